import { texts } from '../texts/index.ts'
import { cx } from './class-names.ts'
import { CopyButton } from './copy-button.tsx'
import { ScrollBox } from './scroll-box.tsx'

interface CodeBlockProps {
  code: string
  label: string
  className?: string
  wrap?: boolean
}

/** A command or a value to be taken along. */
export function CodeBlock({ code, label, className, wrap }: CodeBlockProps) {
  return (
    <div
      className={cx('flex min-w-0 items-start gap-1 rounded-md border border-line bg-sunken py-1 pr-1 pl-3', className)}
    >
      <ScrollBox label={label} className="min-w-0 flex-1 overflow-x-auto rounded">
        <pre className={cx('py-1 text-sm leading-5', wrap && 'break-words whitespace-pre-wrap')}>
          <code>{code}</code>
        </pre>
      </ScrollBox>
      <CopyButton text={code} label={`${texts.common.copy}: ${label}`} />
    </div>
  )
}
