import { autocompletion, completionKeymap } from '@codemirror/autocomplete'
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands'
import { MariaSQL, MySQL, PostgreSQL, type SQLDialect, StandardSQL, sql as sqlLanguage } from '@codemirror/lang-sql'
import { bracketMatching, HighlightStyle, syntaxHighlighting } from '@codemirror/language'
import { EditorState, Prec } from '@codemirror/state'
import { drawSelection, EditorView, keymap, lineNumbers } from '@codemirror/view'
import { tags } from '@lezer/highlight'
import { useEffect, useRef } from 'react'
import type { DatabaseSchema } from '../../api/database-browser.ts'

interface SqlEditorProps {
  label: string
  value: string
  onChange: (value: string) => void
  /** Ctrl+Enter. */
  onRun: () => void
  schema: DatabaseSchema
}

const dialects: Readonly<Record<string, SQLDialect>> = { PostgreSQL, MariaSQL, MySQL }

/** An editor that knows the language and the tables. Tab leaves it, as it leaves every field. */
export function SqlEditor({ label, value, onChange, onRun, schema }: SqlEditorProps) {
  const place = useRef<HTMLDivElement>(null)
  const view = useRef<EditorView | null>(null)
  const acts = useRef({ onChange, onRun })
  acts.current = { onChange, onRun }
  // biome-ignore lint/correctness/useExhaustiveDependencies: the text lives in the editor; a new one comes by the effect below
  useEffect(() => {
    const tables = Object.fromEntries(schema.tables.map((table) => [table.name, table.columns.map(({ name }) => name)]))
    const made = new EditorView({
      parent: place.current!,
      state: EditorState.create({
        doc: value,
        extensions: [
          Prec.highest(
            keymap.of([
              {
                key: 'Mod-Enter',
                run: () => {
                  acts.current.onRun()
                  return true
                },
              },
            ]),
          ),
          keymap.of([...completionKeymap, ...defaultKeymap, ...historyKeymap]),
          history(),
          lineNumbers(),
          drawSelection(),
          bracketMatching(),
          autocompletion(),
          sqlLanguage({ dialect: dialects[schema.language] ?? StandardSQL, schema: tables, upperCaseKeywords: true }),
          syntaxHighlighting(colours),
          look,
          EditorView.lineWrapping,
          EditorView.contentAttributes.of({ 'aria-label': label }),
          EditorView.updateListener.of((update) => {
            if (update.docChanged) acts.current.onChange(update.state.doc.toString())
          }),
        ],
      }),
    })
    view.current = made
    return () => made.destroy()
  }, [schema, label])
  useEffect(() => {
    const made = view.current
    if (made === null || made.state.doc.toString() === value) return
    made.dispatch({ changes: { from: 0, to: made.state.doc.length, insert: value } })
  }, [value])
  return <div ref={place} className="min-w-0" />
}

const colours = HighlightStyle.define([
  { tag: tags.keyword, color: 'var(--accent-ink)' },
  { tag: [tags.string, tags.special(tags.string)], color: 'var(--good)' },
  { tag: [tags.number, tags.bool, tags.null], color: 'var(--warn)' },
  { tag: tags.comment, color: 'var(--ink-3)', fontStyle: 'italic' },
  { tag: tags.typeName, color: 'var(--series-4)' },
])

const look = EditorView.theme({
  '&': { fontSize: '0.8125rem', color: 'var(--ink)' },
  '&.cm-focused': { outline: '2px solid var(--accent-ink)', outlineOffset: '-2px' },
  '.cm-scroller': { fontFamily: 'var(--font-mono, monospace)', minHeight: '9rem', maxHeight: '40vh' },
  '.cm-content': { caretColor: 'var(--ink)' },
  '.cm-cursor': { borderLeftColor: 'var(--ink)' },
  '.cm-gutters': { backgroundColor: 'var(--sunken)', color: 'var(--ink-3)', border: 'none', minHeight: '9rem' },
  '&.cm-focused .cm-selectionBackground, .cm-selectionBackground': { backgroundColor: 'var(--accent-soft) !important' },
  '.cm-tooltip': { backgroundColor: 'var(--raised)', color: 'var(--ink)', border: '1px solid var(--line)' },
  '.cm-tooltip-autocomplete > ul > li[aria-selected]': { backgroundColor: 'var(--accent)', color: 'var(--on-accent)' },
  '.cm-matchingBracket': { backgroundColor: 'var(--mark) !important' },
})
