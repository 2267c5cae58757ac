"""The documentation: Markdown pages in `pages/`, and what makes a site of them.

`pages/index.md` is the table of contents; the navigation is derived from it.  `markdown` renders a
page, `site` makes the files of the site.  The controller serves them at `/guide/` (`ofapp.api`),
`ofapp docs build` writes them as static files, with the laboratory (`ofapp.lab`), and
`ofapp docs PAGE` shows a page in the terminal.  `ofapp.reference` writes the generated pages
(`reference-*.md`) from the declarations.

CONTRIBUTING.md says how to write a page.
"""
