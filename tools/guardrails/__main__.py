"""Write the page."""

from tools.guardrails.page import PAGE, page

PAGE.write_text(page(), encoding="utf-8")
