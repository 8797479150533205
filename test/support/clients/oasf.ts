/**
 * The record of OASF 0.7.0 as far as its published JSON Schema is known here: every field there is, what is required, and the classes
 * of its skills for language. Independent of the server's schema, which covers only emitted fields.
 */
const text = { type: 'string' };
const annotations = { type: 'object', additionalProperties: text };
const timestamp = { type: 'string', format: 'date-time' };
const base64 = { type: 'string', contentEncoding: 'base64', pattern: '^[A-Za-z0-9+/]+={0,2}$' };

const languageSkills: Record<number, string> = {
  101: 'natural_language_understanding',
  102: 'natural_language_generation',
  104: 'creative_content',
  107: 'analytical_reasoning',
  108: 'ethical_interaction',
  109: 'text_classification',
  111: 'token_classification',
  10102: 'natural_language_understanding/semantic_understanding',
  10201: 'natural_language_generation/text_completion',
  10202: 'natural_language_generation/summarization',
  10203: 'natural_language_generation/paraphrasing',
  10204: 'natural_language_generation/dialogue_generation',
  10205: 'natural_language_generation/question_generation',
  10301: 'information_retrieval_synthesis/fact_extraction',
  10302: 'information_retrieval_synthesis/question_answering',
  10303: 'information_retrieval_synthesis/knowledge_synthesis',
  10304: 'information_retrieval_synthesis/sentence_similarity',
  10305: 'information_retrieval_synthesis/document_passage_retrieval',
  10306: 'information_retrieval_synthesis/information_retrieval_synthesis_search',
  10402: 'creative_content/poetry_writing',
  10502: 'language_translation/multilingual_understanding',
  10601: 'personalization/user_adaptation',
  10602: 'personalization/style_adjustment',
  10701: 'analytical_reasoning/inference_deduction',
  10702: 'analytical_reasoning/problem_solving',
  10901: 'text_classification/topic_labeling',
  10902: 'text_classification/sentiment_analysis',
  10903: 'text_classification/natural_language_inference',
  11001: 'feature_extraction/model_feature_extraction',
  11102: 'token_classification/pos_tagging',
};

const skill = ([id, name]: [string, string]) => ({
  type: 'object',
  additionalProperties: false,
  anyOf: [{ required: ['name'] }, { required: ['id'] }],
  properties: {
    id: { const: Number(id) },
    name: { const: `natural_language_processing/${name}` },
    annotations,
  },
});

export const oasfRecordSchema = {
  type: 'object',
  additionalProperties: false,
  required: [
    'authors',
    'created_at',
    'description',
    'locators',
    'name',
    'schema_version',
    'skills',
    'version',
  ],
  properties: {
    name: text,
    version: text,
    schema_version: { const: '0.7.0' },
    description: text,
    authors: { type: 'array', items: text },
    annotations,
    created_at: timestamp,
    previous_record_cid: text,
    skills: { type: 'array', items: { oneOf: Object.entries(languageSkills).map(skill) } },
    domains: { type: 'array' },
    modules: { type: 'array' },
    locators: {
      type: 'array',
      items: {
        type: 'object',
        additionalProperties: false,
        required: ['type', 'url'],
        properties: {
          type: {
            enum: ['unspecified', 'helm_chart', 'docker_image', 'python_package', 'source_code', 'binary'],
          },
          url: { type: 'string', format: 'uri' },
          annotations,
          size: { type: 'integer' },
          digest: text,
        },
      },
    },
    signature: {
      type: 'object',
      additionalProperties: false,
      required: ['signature'],
      properties: {
        annotations,
        signed_at: timestamp,
        algorithm: text,
        signature: base64,
        certificate: base64,
        content_type: text,
        content_bundle: base64,
      },
    },
  },
};
