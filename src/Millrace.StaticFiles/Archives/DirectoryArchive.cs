using System.Net;
using System.Text;
using System.Text.Unicode;
using Millrace.Http;
using Millrace.StaticFiles.Access;
using Millrace.StaticFiles.Snapshots;

namespace Millrace.StaticFiles.Archives;

/// <summary>A planned download of a directory of a snapshot. Immutable.</summary>
/// <param name="archives">The site's archives.</param>
/// <param name="format">The format.</param>
/// <param name="directory">The directory.</param>
/// <param name="urlPath">The decoded path at which it was requested, with '/' at both ends.</param>
/// <param name="access">The rules about access: the requester may see the directory, at both of its paths.</param>
/// <param name="client">The requester's address; null if it has none.</param>
internal sealed class DirectoryArchive(
    SiteArchives archives, ArchiveFormats format, SiteDirectory directory, byte[] urlPath, SiteAccess access, IPAddress? client)
{
    private static ReadOnlySpan<byte> RootName => "site"u8;

    public SiteArchives Archives => archives;

    public ArchiveFormats Format => format;

    public SiteDirectory Directory => directory;

    public SiteAccess Access => access;

    public ReadOnlySpan<byte> UrlPath => urlPath;

    /// <summary>
    /// The name of the archive, and of the directory in it that holds all entries: nothing is unpacked beside others' files.
    /// </summary>
    public ReadOnlySpan<byte> Name => NameOf(urlPath);

    /// <summary>Begins to make it. Null if too many are being sent.</summary>
    /// <param name="snapshot">The snapshot of the directory; the caller keeps its lease until the producer is disposed of.</param>
    public ArchiveProducer? TryBegin(CatalogSnapshot snapshot)
    {
        if (!archives.TryBegin(client))
        {
            return null;
        }

        try
        {
            return new ArchiveProducer(this, snapshot);
        }
        catch
        {
            End();
            throw;
        }
    }

    /// <summary>It is no longer sent.</summary>
    public void End() => archives.End(client);

    /// <summary>
    /// Writes the Content-Disposition (RFC 6266) of an archive: for a name that is not plain ASCII also in the form of RFC 8187.
    /// </summary>
    public static byte[] Disposition(ReadOnlySpan<byte> urlPath, ArchiveFormats format)
    {
        ReadOnlySpan<byte> name = NameOf(urlPath);
        var value = new StringBuilder("attachment; filename=\"");
        bool isPlain = true;
        foreach (byte letter in name)
        {
            bool isSafe = letter is >= 0x20 and < 0x7f and not ((byte)'"' or (byte)'\\' or (byte)'%');
            isPlain &= isSafe;
            value.Append(isSafe ? (char)letter : '_');
        }

        string extension = Encoding.ASCII.GetString(format.Text());
        value.Append('.').Append(extension).Append('"');
        if (!isPlain)
        {
            byte[] utf8 = Utf8.IsValid(name) ? name.ToArray() : Encoding.UTF8.GetBytes(Encoding.UTF8.GetString(name));
            byte[] room = new byte[PercentEncoding.BytesMaxPerByte * utf8.Length];
            int bytes = PercentEncoding.Encode(utf8, ByteClasses.Unreserved, room);
            value.Append("; filename*=UTF-8''").Append(Encoding.ASCII.GetString(room, 0, bytes)).Append('.').Append(extension);
        }

        return Encoding.ASCII.GetBytes(value.ToString());
    }

    private static ReadOnlySpan<byte> NameOf(ReadOnlySpan<byte> urlPath) =>
        urlPath.Length > 1 ? SitePath.LastSegment(urlPath[..^1]) : RootName;
}
