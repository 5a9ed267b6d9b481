"""Where the views are."""

from django.urls import path

from shop import views

urlpatterns = [
    path("orders", views.order),
    path("receipts/<str:result_id>", views.receipt),
    path("counts/<str:item>", views.count),
]
