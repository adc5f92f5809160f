using System.Formats.Tar;
using System.IO.Compression;
using System.Net;
using System.Text;
using Millrace.Http;
using Millrace.Interop.Files;
using Millrace.StaticFiles.Archives;
using Millrace.StaticFiles.Planning;
using Millrace.StaticFiles.Snapshots;

namespace Millrace.StaticFiles.Tests.Archives;

/// <summary>Makes archives as a server does, from the plan of a request on, and reads them with .NET's own readers.</summary>
internal static class MadeArchive
{
    /// <summary>The archive; null if it was cut.</summary>
    /// <param name="site">The site.</param>
    /// <param name="target">The path of the directory and the query.</param>
    /// <param name="before">Called before each step is done.</param>
    /// <param name="client">The client's address.</param>
    public static byte[]? Of(Site site, string target, Action<ArchiveStep>? before = null, IPAddress? client = null)
    {
        CatalogSnapshot snapshot = site.Catalog.Acquire();
        try
        {
            DirectoryArchive archive = Plan(site, snapshot, target, client).Archive!;
            using ArchiveProducer producer = archive.TryBegin(snapshot)!;
            return Run(producer, before);
        }
        finally
        {
            snapshot.Release();
        }
    }

    public static ResponsePlan Plan(Site site, CatalogSnapshot snapshot, string target, IPAddress? client = null, PlanScratch? scratch = null)
    {
        string[] parts = target.Split('?');
        var request = new PlanRequest
        {
            Method = Method.Get,
            Path = Encoding.UTF8.GetBytes(parts[0]),
            Query = Encoding.UTF8.GetBytes(parts.Length > 1 ? parts[1] : ""),
            Client = client,
        };
        return site.Planner.Decide(request, snapshot, scratch ?? new PlanScratch());
    }

    /// <summary>The entries of an archive, of either format, with what they hold: null for a directory.</summary>
    public static List<(string Name, byte[]? Content)> Read(byte[] archive) =>
        archive.AsSpan().StartsWith("PK"u8) ? ReadZip(archive) : ReadTar(archive);

    public static List<string> Names(byte[]? archive) => [.. Read(archive!).Select(static entry => entry.Name)];

    private static List<(string Name, byte[]? Content)> ReadTar(byte[] archive)
    {
        var entries = new List<(string, byte[]?)>();
        using var gzip = new GZipStream(new MemoryStream(archive), CompressionMode.Decompress);
        using var reader = new TarReader(gzip);
        while (reader.GetNextEntry(copyData: true) is { } entry)
        {
            bool isDirectory = entry.EntryType == TarEntryType.Directory;
            Assert.Equal(isDirectory ? (UnixFileMode)0x1ed : (UnixFileMode)0x1a4, entry.Mode);
            Assert.Equal((0, 0), (entry.Uid, entry.Gid));
            using var content = new MemoryStream();
            entry.DataStream?.CopyTo(content);
            entries.Add((entry.Name, isDirectory ? null : content.ToArray()));
        }

        return entries;
    }

    private static List<(string Name, byte[]? Content)> ReadZip(byte[] archive)
    {
        var entries = new List<(string, byte[]?)>();
        using var zip = new ZipArchive(new MemoryStream(archive));
        foreach (ZipArchiveEntry entry in zip.Entries)
        {
            bool isDirectory = entry.FullName.EndsWith('/');
            Assert.Equal(isDirectory ? 0x41ed : 0x81a4, entry.ExternalAttributes >>> 16);
            using Stream opened = entry.Open();
            using var content = new MemoryStream();
            opened.CopyTo(content);
            Assert.Equal(content.Length, entry.Length);
            entries.Add((entry.FullName, isDirectory ? null : content.ToArray()));
        }

        return entries;
    }

    private static byte[]? Run(ArchiveProducer producer, Action<ArchiveStep>? before)
    {
        using var whole = new MemoryStream();
        while (true)
        {
            ArchiveStep step = producer.Run();
            Assert.InRange(producer.Output.Length, 0, 4 * ArchiveProducer.PieceBytes);
            whole.Write(producer.Output.Span);
            producer.ClearOutput();
            before?.Invoke(step);
            switch (step)
            {
                case ArchiveStep.Finished:
                    return whole.ToArray();
                case ArchiveStep.OpenFile when !producer.TryOpenFile():
                case ArchiveStep.ReadFile when !producer.TryTakePiece(Read(producer)):
                    return null;
            }
        }
    }

    private static unsafe int Read(ArchiveProducer producer)
    {
        fixed (byte* input = producer.Input.Span)
        {
            return (int)FileCalls.PositionalRead(producer.Descriptor, input, (nuint)producer.Input.Length, producer.Offset);
        }
    }
}
