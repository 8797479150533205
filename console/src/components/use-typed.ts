import { useCallback, useEffect, useRef, useState } from 'react';

const typingMilliseconds = 400;

/** The text of an input that holds a search parameter. It applies after a pause in typing, or with `send`. */
export function useTyped(value: string, apply: (text: string) => void) {
  const [typed, setTyped] = useState(value);
  const sent = useRef(value);
  useEffect(() => {
    // The own value comes back through the URL. More may have been typed since.
    if (value === sent.current) return;
    sent.current = value;
    setTyped(value);
  }, [value]);
  const latestApply = useRef(apply);
  latestApply.current = apply;
  const send = useCallback(() => {
    sent.current = typed;
    latestApply.current(typed);
  }, [typed]);
  useEffect(() => {
    if (typed === value) return;
    const timer = setTimeout(send, typingMilliseconds);
    return () => clearTimeout(timer);
  }, [typed, value, send]);
  return { typed, setTyped, send };
}
