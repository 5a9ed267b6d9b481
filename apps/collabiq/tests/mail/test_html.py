import pytest

from collabiq.mail.html_text import text_of_html


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("<p>a</p><p>b</p>", "a\n\nb"),
        ("a<br>b<br/>c", "a\nb\nc"),
        ("<ul><li>a</li><li>b</li></ul>", "- a\n- b"),
        ("<table><tr><td>a</td><td></td><td>b</td></tr><tr><td>c</td></tr></table>", "a | b\nc"),
        ("a&nbsp;&amp;&lt;b&gt; &#44032;", "a &<b> 가"),
        ("<blockquote>a<blockquote>b</blockquote></blockquote>c", "> a\n>\n>> b\n>\nc"),
        ("<pre>a\n  b</pre>", "a\n  b"),
        ("a <b>c</b>\n  d", "a c d"),
        ('<a href="x > y">link</a>', "link"),
        ("<!-- <p>no</p> -->a<!doctype html><?xml no?>", "a"),
        ("1 < 2 and 3 > 2", "1 < 2 and 3 > 2"),
        ("a <b without an end", "a <b without an end"),
        ("<SCRIPT>x</p></SCRIPT>a<style>b", "a"),
        (f"&#{'9' * 5_000};", f"&#{'9' * 5_000};"),
    ],
)
def test_markup_becomes_text(markup, text):
    assert text_of_html(markup) == text


@pytest.mark.parametrize(
    "attribute",
    [
        "hidden",
        'style="display: none"',
        "style='color:red;DISPLAY:NONE!important'",
        "style=visibility:hidden",
        'style="font-size:0px"',
        'style="mso-hide:all"',
        'style="opacity:0"',
        'style="max-height:0"',
    ],
)
def test_what_nobody_sees_is_left_out(attribute):
    assert text_of_html(f"a<div {attribute}>no<div>no</div>no</div>b") == "ab"


@pytest.mark.parametrize(
    "attribute",
    ['class="hidden"', 'style="opacity:0.5"', 'style="font-size:0.9em"', 'title="hidden"'],
)
def test_what_is_seen_stays(attribute):
    assert text_of_html(f"<div {attribute}>yes</div>") == "yes"
