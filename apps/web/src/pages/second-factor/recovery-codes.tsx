import { Button } from '../../components/button.tsx'
import { CodeBlock } from '../../components/code-block.tsx'
import { DialogActions } from '../../components/dialog.tsx'
import { texts } from '../../texts/index.ts'

const t = texts.secondFactor

/** The one time that they are shown; they live in this part of the page only, and go with it. */
export function RecoveryCodes({ codes, onClose }: { codes: readonly string[]; onClose: () => void }) {
  return (
    <div className="flex flex-col gap-3">
      <p className="text-ink-2">{t.codesDetail}</p>
      <CodeBlock code={codes.join('\n')} label={t.codes} />
      <DialogActions>
        <Button look="primary" onClick={onClose}>
          {t.codesKept}
        </Button>
      </DialogActions>
    </div>
  )
}
