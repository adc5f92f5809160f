using System.IO.Compression;
using Millrace.Http;
using Millrace.Interop.Files;
using Millrace.StaticFiles.Snapshots;

namespace Millrace.StaticFiles.Scanning;

/// <summary>
/// Decides by decoding whether a coded file is made from an original, where times cannot: a deployment may bring the coded file first, and
/// an undone one leaves the coded files of another original. Reads and decodes the files, so it is only used for the few in doubt.
/// </summary>
internal sealed class SiblingVerifier(RootDirectory root)
{
    /// <summary>What a coding's framing adds to an incompressible body, at most.</summary>
    private const int FrameBytesMax = 1024;

    private const int PieceBytes = 64 * 1024;

    /// <summary>
    /// Whether it decodes to the content of the original's tag. False also if that cannot be known: for originals that were not read, for
    /// zstd, which has no decoder here, and for files that changed since they were loaded.
    /// </summary>
    public bool Matches(Asset original, ContentCoding coding, Asset coded)
    {
        if (!original.HasTagOfContent || coded.Size > original.Size + FrameBytesMax || !TryRead(coded, out byte[] bytes))
        {
            return false;
        }

        using var source = new MemoryStream(bytes, writable: false);
        using Stream? decoder = coding switch
        {
            ContentCoding.Gzip => new GZipStream(source, CompressionMode.Decompress),
            ContentCoding.Brotli => new BrotliStream(source, CompressionMode.Decompress),
            _ => null,
        };
        return decoder is not null && TryDigest(decoder, original.Size, out UInt128 digest)
            && EntityTag.OfContent(digest).Bytes.SequenceEqual(original.EntityTag);
    }

    private bool TryRead(Asset coded, out byte[] bytes)
    {
        bytes = new byte[coded.Size];
        int fd = root.OpenFile(coded.SitePath.RelativeZ);
        if (fd < 0)
        {
            return false;
        }

        long read = FileContent.Read(fd, bytes);
        bool isSame = FileState.Read(fd, out FileState state) == 0 && state == coded.State;
        _ = FileCalls.Close(fd);
        return read == bytes.Length && isSame;
    }

    /// <summary>False if the length differs, or the data is not of this coding.</summary>
    private static bool TryDigest(Stream decoder, long bytesWanted, out UInt128 digest)
    {
        using var content = new ContentDigest();
        byte[] piece = new byte[PieceBytes];
        long done = 0;
        try
        {
            int count;
            while (done <= bytesWanted && (count = decoder.Read(piece)) > 0)
            {
                content.Append(piece.AsSpan(0, count));
                done += count;
            }
        }
        catch (Exception error) when (error is InvalidDataException or InvalidOperationException)
        {
            // BrotliStream throws InvalidOperationException for some data that is not valid.
            done = -1;
        }

        digest = content.Finish();
        return done == bytesWanted;
    }
}
