/** The page of the documentation that explains the open page. */
import { createContext, useContext } from 'react';

const GuideContext = createContext<string | undefined>(undefined);

export const GuideProvider = GuideContext.Provider;
export const useGuide = (): string | undefined => useContext(GuideContext);
