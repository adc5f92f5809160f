namespace Millrace.Http;

/// <summary>Which codings there are of something: bit <c>1 &lt;&lt; (int)coding</c> of each <see cref="ContentCoding"/>.</summary>
[Flags]
internal enum CodingSet : byte
{
    None = 0,
    Identity = 1,
    Gzip = 2,
    Brotli = 4,
    Zstd = 8,
}
