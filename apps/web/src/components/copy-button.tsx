import { Check, Copy } from 'lucide-react'
import { useEffect, useState } from 'react'
import { texts } from '../texts/index.ts'
import { IconButton } from './button.tsx'

function useCopy(text: string | (() => string)) {
  const [copied, setCopied] = useState(false)
  useEffect(() => {
    if (!copied) return
    const timer = setTimeout(() => setCopied(false), 1500)
    return () => clearTimeout(timer)
  }, [copied])
  return {
    copied,
    copy: async () => {
      await writeClipboard(typeof text === 'string' ? text : text())
      setCopied(true)
    },
  }
}

/** Browsers give the clipboard to secure pages only; a service on a plain-HTTP host name still has the old way. */
export async function writeClipboard(text: string): Promise<void> {
  if (navigator.clipboard !== undefined) return navigator.clipboard.writeText(text)
  const area = document.createElement('textarea')
  area.value = text
  area.style.position = 'fixed'
  area.style.opacity = '0'
  document.body.append(area)
  area.select()
  document.execCommand('copy')
  area.remove()
}

export function CopyButton({
  text,
  label = texts.common.copy,
  size = 'sm',
}: {
  text: string | (() => string)
  label?: string
  size?: 'sm' | 'md'
}) {
  const { copied, copy } = useCopy(text)
  return (
    <>
      <IconButton
        icon={copied ? Check : Copy}
        label={label}
        tip={copied ? texts.common.copied : label}
        size={size}
        className={copied ? 'text-good' : undefined}
        onClick={() => void copy()}
      />
      <span className="sr-only" aria-live="polite">
        {copied ? texts.common.copied : ''}
      </span>
    </>
  )
}
