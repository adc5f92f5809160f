using System.Diagnostics;
using System.IO.Compression;
using Millrace.Interop.Zstd;
using Millrace.Tests.Shared;

namespace Millrace.Storm.Wire;

/// <summary>An answer as it came; <see cref="IsCut"/> where the connection ended before its body did.</summary>
internal sealed record Response(int Status, Dictionary<string, string> Fields, byte[] Body, bool IsCut)
{
    /// <summary>When its head came (ticks of Stopwatch).</summary>
    public long BeganAt { get; init; }

    /// <summary>When the last of it came.</summary>
    public long ReceivedAt { get; } = Stopwatch.GetTimestamp();

    public string? Field(string name) => Fields.GetValueOrDefault(name);

    public string? Tag => Field("ETag");

    /// <summary>A tag that promises the same bytes.</summary>
    public string? StrongTag => Tag is { Length: > 0 } tag && tag[0] == '"' ? tag : null;

    public string Coding => Field("Content-Encoding") ?? "";

    /// <summary>The body without its content coding. Throws where it does not decode.</summary>
    public byte[] Decode()
    {
        using var source = new MemoryStream(Body);
        using Stream? decoder = Coding switch
        {
            "" => null,
            "gzip" => new GZipStream(source, CompressionMode.Decompress),
            "br" => new BrotliStream(source, CompressionMode.Decompress),
            "zstd" when ZstdLibrary.TryLoad(out ZstdLibrary? library) => new ZstdReadStream(library, source),
            _ => throw new InvalidDataException($"nobody asked for {Coding}"),
        };
        if (decoder is null)
        {
            return Body;
        }

        using var target = new MemoryStream();
        decoder.CopyTo(target);
        return target.ToArray();
    }
}
