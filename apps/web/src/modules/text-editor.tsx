import { defaultKeymap, history, historyKeymap } from '@codemirror/commands'
import { bracketMatching } from '@codemirror/language'
import { EditorState, StateEffect, StateField } from '@codemirror/state'
import { Decoration, type DecorationSet, drawSelection, EditorView, keymap, lineNumbers } from '@codemirror/view'
import { useEffect, useRef } from 'react'
import { lineEndOf } from '../lib/files.ts'

interface TextEditorProps {
  label: string
  start: string
  onChange: (text: string) => void
  /** Ctrl+S. */
  onSave: () => void
  /** Lines with a fault, from 1. */
  faulty?: readonly number[]
}

/** Tab leaves it, as it leaves every field. */
export function TextEditor({ label, start, onChange, onSave, faulty = none }: TextEditorProps) {
  const place = useRef<HTMLDivElement>(null)
  const view = useRef<EditorView | null>(null)
  const acts = useRef({ onChange, onSave })
  acts.current = { onChange, onSave }
  useEffect(() => {
    const lineEnd = lineEndOf(start)
    const save = () => {
      acts.current.onSave()
      return true
    }
    const made = new EditorView({
      parent: place.current!,
      state: EditorState.create({
        doc: start,
        extensions: [
          keymap.of([{ key: 'Mod-s', run: save, preventDefault: true }, ...defaultKeymap, ...historyKeymap]),
          history(),
          lineNumbers(),
          drawSelection(),
          bracketMatching(),
          EditorState.lineSeparator.of(lineEnd),
          marks,
          look,
          EditorView.lineWrapping,
          EditorView.contentAttributes.of({ 'aria-label': label }),
          EditorView.updateListener.of((update) => {
            if (update.docChanged) acts.current.onChange(update.state.sliceDoc())
          }),
        ],
      }),
    })
    view.current = made
    return () => made.destroy()
  }, [start, label])
  useEffect(() => view.current?.dispatch({ effects: mark.of(faulty) }), [faulty])
  return (
    <div
      ref={place}
      className="min-w-0 overflow-hidden rounded-lg border border-line bg-surface focus-within:outline-2 focus-within:outline-(--accent-ink)"
    />
  )
}

const none: readonly number[] = []
const mark = StateEffect.define<readonly number[]>()
const faultyLine = Decoration.line({ class: 'cm-faulty' })
const marks = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update: (held, { changes, effects, state: { doc } }) => {
    const next = effects.find((effect) => effect.is(mark))
    if (next === undefined) return held.map(changes)
    const lines = [...new Set(next.value as readonly number[])].filter((line) => line >= 1 && line <= doc.lines)
    return Decoration.set(
      lines.map((line) => faultyLine.range(doc.line(line).from)),
      true,
    )
  },
  provide: (field) => EditorView.decorations.from(field),
})

const look = EditorView.theme({
  '&': { fontSize: '0.8125rem', color: 'var(--ink)' },
  // The frame around it shows the focus: its own would be hidden by the numbers of lines.
  '&.cm-focused': { outline: 'none' },
  '.cm-scroller': { fontFamily: 'var(--font-mono, monospace)', minHeight: '16rem', maxHeight: '70vh' },
  '.cm-content': { caretColor: 'var(--ink)' },
  '.cm-cursor': { borderLeftColor: 'var(--ink)' },
  '.cm-gutters': { backgroundColor: 'var(--sunken)', color: 'var(--ink-3)', border: 'none' },
  '.cm-faulty': { backgroundColor: 'var(--bad-soft)', boxShadow: 'inset 2px 0 0 var(--bad)' },
  '&.cm-focused .cm-selectionBackground, .cm-selectionBackground': { backgroundColor: 'var(--accent-soft) !important' },
})
