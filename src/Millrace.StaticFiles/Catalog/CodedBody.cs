using Millrace.Http;

namespace Millrace.StaticFiles.Catalog;

/// <summary>The body of an asset, coded.</summary>
/// <param name="Coding">With what; not identity.</param>
/// <param name="Bytes">The coded bytes; the catalogue copies them.</param>
internal readonly record struct CodedBody(ContentCoding Coding, ReadOnlyMemory<byte> Bytes);
