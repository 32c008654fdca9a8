/* What style sheets cannot do. Pages can be read without it. */

// Tables and code that are wider than the page are marked as long as something is left at the right.
function markCut(box) {
  box.classList.toggle("cut-right", box.scrollWidth - box.clientWidth - box.scrollLeft > 1);
}

// Names may break before a capital and after a sign: StreamingVariational-LDA, not StreamingVariationalL-DA.
function allowBreaks(element) {
  const texts = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  const found = [];
  while (texts.nextNode()) found.push(texts.currentNode);
  for (const text of found) {
    const parts = text.data.split(/(?<=[a-z]{4})(?=[A-Z])|(?<=[a-z][._])(?=[a-z])|(?<=\w[(=])(?=["\w])/);
    if (parts.length > 1) {
      text.replaceWith(...parts.flatMap((part, i) => (i ? [document.createElement("wbr"), part] : [part])));
    }
  }
}

// A click on a picture shows it in its own size.
function linkToFile(image) {
  const link = document.createElement("a");
  link.href = image.src;
  image.replaceWith(link);
  link.append(image);
}

document.addEventListener("DOMContentLoaded", () => {
  const all = (selector) => document.querySelectorAll(selector);
  const sizes = new ResizeObserver((changes) => changes.forEach(({ target }) => markCut(target)));
  for (const box of all(".pst-scrollable-table-container, .bd-article :is(pre, div.math, .output_subarea)")) {
    box.addEventListener("scroll", () => markCut(box), { passive: true });
    sizes.observe(box);
  }
  const names = "h1, h2, h3, .sig-name, th, td:first-child, .stack td:nth-child(2)";
  all(`.bd-article :is(${names}), .prev-next-title`).forEach(allowBreaks);
  [...all(".page-toc a")].filter((link) => !link.textContent.trim().includes(" ")).forEach(allowBreaks);
  all(".bd-article img:not(a img, .sphx-glr-thumbcontainer img)").forEach(linkToFile);
});

// sphinx_copybutton makes its buttons when the page is there, without a name that is read aloud.
window.addEventListener("load", () => {
  document.querySelectorAll("button.copybtn").forEach((button) => button.setAttribute("aria-label", "Copy this code"));
});
