import { useEffect } from 'react'
import { texts } from '../texts/index.ts'

export function useTitle(...parts: readonly string[]): void {
  const title = [...parts, texts.product].join(' · ')
  useEffect(() => {
    document.title = title
  }, [title])
}
