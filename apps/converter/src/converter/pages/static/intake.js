// Where files come from: chosen, dropped anywhere on the page, or pasted.

export function takeFiles({ input, zone, take }) {
  input.addEventListener("change", () => {
    take([...input.files]);
    // So that the same file can be chosen once more.
    input.value = "";
  });
  document.addEventListener("paste", (event) => {
    const files = [...(event.clipboardData?.files ?? [])];
    if (files.length === 0) return;
    event.preventDefault();
    take(files);
  });
  takeDrops(zone, take);
}

function takeDrops(zone, take) {
  const bringsFiles = (event) => event.dataTransfer?.types.includes("Files") ?? false;
  // Leaving one element means entering another; only at none has the pointer left the page.
  let inside = 0;
  const enter = (change) => {
    inside = Math.max(0, inside + change);
    zone.classList.toggle("over-me", inside > 0);
  };
  document.addEventListener("dragenter", (event) => bringsFiles(event) && enter(1));
  document.addEventListener("dragleave", (event) => bringsFiles(event) && enter(-1));
  document.addEventListener("dragover", (event) => {
    if (!bringsFiles(event)) return;
    // Without this a file that misses the zone would take the place of the page.
    event.preventDefault();
    event.dataTransfer.dropEffect = "copy";
  });
  document.addEventListener("drop", (event) => {
    if (!bringsFiles(event)) return;
    event.preventDefault();
    enter(-inside);
    take([...event.dataTransfer.files]);
  });
}
