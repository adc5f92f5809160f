using System.IO.Compression;

namespace Millrace.HttpServer.Tests.Kit;

/// <summary>A directory to serve, with files whose bytes follow from their size. Removed at the end.</summary>
internal sealed class SiteFolder : IDisposable
{
    public const string NamePrefix = "millrace-web-";

    /// <summary>
    /// Around every border between two ways of sending: none, copied after the head (16 KiB), a response's block and by
    /// reference (32 KiB), one read (256 KiB), chunks.
    /// </summary>
    public static readonly int[] Sizes =
    [
        0, 1, 1000, 16_383, 16_384, 16_385, 32_767, 32_768, 32_769, 65_535, 65_536, 65_537,
        262_143, 262_144, 262_145, (1024 * 1024) + 1,
    ];

    /// <summary>Rules by which everything may be stored, by everybody, and with a field that has nothing to do with it.</summary>
    public static readonly byte[] RulesOfStoring =
    [
        .. "/*\n  cache-control: max-age=31536000\n  CDN-Cache-Control: max-age=9\n  Surrogate-Control: max-age=9\n"u8,
        .. "  expires: Thu, 01 Jan 2099 00:00:00 GMT\n  X-Kept: kept\n"u8,
    ];

    public string Root { get; } = Directory.CreateTempSubdirectory(NamePrefix).FullName;

    /// <summary>The target of the file of a size.</summary>
    public static string Target(int size) => $"/f{size}.bin";

    /// <summary>Bytes that look alike nowhere, the same for the same size each time.</summary>
    public static byte[] Bytes(int size)
    {
        byte[] bytes = new byte[size];
#pragma warning disable CA5394 // Not for secrets: the bytes have to be the same in every run.
        new Random(size).NextBytes(bytes);
#pragma warning restore CA5394
        return bytes;
    }

    public string PathOf(string target) => Path.Combine(Root, target.TrimStart('/'));

    public byte[] AddSized(int size) => Add(Target(size), Bytes(size));

    public void AddSizes() => Array.ForEach(Sizes, size => AddSized(size));

    public byte[] Add(string target, byte[] bytes)
    {
        Directory.CreateDirectory(Path.GetDirectoryName(PathOf(target))!);
        File.WriteAllBytes(PathOf(target), bytes);
        return bytes;
    }

    /// <summary>Adds the gzip form of a file beside it.</summary>
    public byte[] AddGzip(string target, byte[] content)
    {
        using var coded = new MemoryStream();
        using (var coder = new GZipStream(coded, CompressionLevel.Fastest))
        {
            coder.Write(content);
        }

        return Add(target + ".gz", coded.ToArray());
    }

    /// <summary>Writes over a file in place: the same inode, other bytes.</summary>
    public void Overwrite(string target, byte[] bytes)
    {
        using FileStream file = File.OpenWrite(PathOf(target));
        file.Write(bytes);
    }

    /// <summary>Cuts a file off, or lets it grow by zeros, in place.</summary>
    public void SetLength(string target, long length)
    {
        using FileStream file = File.OpenWrite(PathOf(target));
        file.SetLength(length);
    }

    public void Dispose() => Directory.Delete(Root, recursive: true);
}
