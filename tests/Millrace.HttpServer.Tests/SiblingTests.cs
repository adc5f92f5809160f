using System.Collections.Concurrent;
using System.Diagnostics;
using System.IO.Compression;
using System.Net;
using System.Net.Http.Headers;
using Millrace.HttpServer.Tests.Kit;
using Millrace.StaticFiles;

namespace Millrace.HttpServer.Tests;

/// <summary>Coded files beside others: nothing is ever sent that does not decode to the file.</summary>
public class SiblingTests : SiteFixture
{
    /// <summary>Where the bytes of the coded files are when they are sent.</summary>
    private static readonly (string Name, Func<SiteOptions, SiteOptions> Change)[] Ways =
    [
        ("in memory", static options => options with { CacheFileBytesMax = 4 * 1024 * 1024 }),
        ("read at once", static options => options with { CacheFileBytesMax = 0, ReadBytesMax = 4 * 1024 * 1024 }),
        ("streamed", static options => options with { CacheFileBytesMax = 0, ReadBytesMax = 0 }),
        ("opened on demand", static options => options with { CacheFileBytesMax = 0, DescriptorsMax = 0 }),
    ];

    public static TheoryData<string, int, string, string> Changes
    {
        get
        {
            var all = new TheoryData<string, int, string, string>();
            foreach ((string way, _) in Ways[1..])
            {
                foreach (string version in (string[])["1.1", "2.0"])
                {
                    foreach (string change in (string[])["overwritten", "cut", "grown", "replaced", "deleted"])
                    {
                        all.Add(way, way == "streamed" ? 600_000 : 100_000, version, change);
                    }
                }
            }

            return all;
        }
    }

    [Theory]
    [MemberData(nameof(Changes))]
    public async Task One_that_has_changed_since_it_was_proven_is_not_sent(string way, int size, string version, string change)
    {
        const string Target = "/f.js";
        byte[] content = Folder.Add(Target, SiteFolder.Bytes(size));
        byte[] coded = Folder.AddGzip(Target, content);
        RunningSite site = await StartAsync(Array.Find(Ways, one => one.Name == way).Change);
        using HttpClient client = ClientOf(site, version);
        (HttpResponseMessage before, byte[] body) = await AskAsync(client, Target);
        Assert.Equal(("gzip", coded.Length), (CodingOf(before), body.Length));
        string path = Folder.PathOf(Target + ".gz");
        switch (change)
        {
            case "overwritten":
                Folder.Overwrite(Target + ".gz", SiteFolder.Bytes(coded.Length));
                break;
            case "cut":
                Folder.SetLength(Target + ".gz", coded.Length / 2);
                break;
            case "grown":
                Folder.SetLength(Target + ".gz", coded.Length + 1);
                break;
            case "replaced":
                Folder.Add("/next", SiteFolder.Bytes(coded.Length));
                File.Move(Folder.PathOf("/next"), path, overwrite: true);
                break;
            default:
                File.Delete(path);
                break;
        }

        (HttpResponseMessage after, body) = await AskAsync(client, Target);
        Assert.Equal((HttpStatusCode.OK, null), (after.StatusCode, CodingOf(after)));
        Assert.Equal(content, body);
        Assert.Null(after.Headers.ETag);

        (HttpResponseMessage part, body) =
            await AskAsync(client, Target, ("Range", "bytes=0-9"), ("If-Range", before.Headers.ETag!.ToString()));
        Assert.Equal((HttpStatusCode.OK, null), (part.StatusCode, CodingOf(part)));
        Assert.Null(part.Content.Headers.ContentRange);
        Assert.Equal(content, body);
    }

    [Fact]
    public Task Under_load_every_answer_is_a_version_of_its_file_whatever_a_writer_does() => LoadAsync(TimeSpan.FromSeconds(4));

    [Fact]
    [Trait("Duration", "Long")]
    public Task Under_load_for_a_minute_every_answer_is_a_version_of_its_file() => LoadAsync(TimeSpan.FromSeconds(60));

    private async Task LoadAsync(TimeSpan time)
    {
        var files = new CodedFiles(Folder);
        HttpClient[] clients = [];
        var tally = new Tally();
        foreach ((_, Func<SiteOptions, SiteOptions> change) in Ways)
        {
            RunningSite site = await StartAsync(options => change(options) with { Watch = WatchMode.Inotify, Compression = false });
            clients = [.. clients, ClientOf(site, "1.1"), ClientOf(site, "2.0")];
        }

        var watch = Stopwatch.StartNew();
        var isOver = new Func<bool>(() => watch.Elapsed > time);
        Task[] work =
        [
            Task.Run(() => files.WriteAsync(seed: 1, isOver)),
            Task.Run(() => files.WriteAsync(seed: 2, isOver)),
            .. clients.SelectMany(client => Enumerable.Range(0, 2).Select(seed => Task.Run(() => files.AskAsync(client, seed, tally, isOver)))),
        ];
        await Task.WhenAll(work);
        Array.ForEach(clients, static client => client.Dispose());
        TestContext.Current.SendDiagnosticMessage($"{tally}");
        Assert.Empty(tally.Bad);
        Assert.True(tally.Coded > 20 && tally.Plain > 20, $"{tally}");

        // Only a file that is written over while it is sent ends a response.
        Assert.True(tally.Ended < tally.Coded / 20, $"{tally}");
    }

    private static HttpClient ClientOf(RunningSite site, string version) => new()
    {
        BaseAddress = new Uri($"http://{site.EndPoint}"),
        DefaultRequestVersion = new Version(version),
        DefaultVersionPolicy = HttpVersionPolicy.RequestVersionExact,
    };

    private static async Task<(HttpResponseMessage Response, byte[] Body)> AskAsync(
        HttpClient client, string target, params (string Name, string Value)[] fields)
    {
        using var request = new HttpRequestMessage(HttpMethod.Get, target)
        {
            Version = client.DefaultRequestVersion,
            VersionPolicy = HttpVersionPolicy.RequestVersionExact,
        };
        request.Headers.AcceptEncoding.Add(new StringWithQualityHeaderValue("gzip"));
        foreach ((string name, string value) in fields)
        {
            request.Headers.TryAddWithoutValidation(name, value);
        }

        HttpResponseMessage response = await client.SendAsync(request);
        return (response, await response.Content.ReadAsByteArrayAsync());
    }

    private static string? CodingOf(HttpResponseMessage response) => response.Content.Headers.ContentEncoding.SingleOrDefault();

    /// <summary>What came of the requests. Any thread counts.</summary>
    private sealed class Tally
    {
        private int _coded;
        private int _plain;
        private int _ended;

        public ConcurrentQueue<string> Bad { get; } = [];

        public int Coded => _coded;

        public int Plain => _plain;

        public int Ended => _ended;

        public void Count(bool isCoded) => Interlocked.Increment(ref isCoded ? ref _coded : ref _plain);

        public void CountEnded() => Interlocked.Increment(ref _ended);

        public override string ToString() => $"{_coded} coded, {_plain} plain, {_ended} ended, {Bad.Count} bad";
    }

    /// <summary>
    /// Files of which each has two versions, and a writer that does to the coded files what may happen to them: writes them slowly, in place,
    /// cuts them, swaps them.
    /// </summary>
    private sealed class CodedFiles
    {
        private static readonly int[] Sizes = [300, 5_000, 120_000, 900_000];

        private readonly SiteFolder _folder;
        private readonly byte[][][] _versions;

        public CodedFiles(SiteFolder folder)
        {
            _folder = folder;
            _versions = [.. Sizes.Select(static size => (byte[][])[Content(size, 1), Content(size, 2)])];
            for (int i = 0; i < Sizes.Length; i++)
            {
                folder.Add(NameOf(i), _versions[i][0]);
                folder.AddGzip(NameOf(i), _versions[i][0]);
            }
        }

        public async Task WriteAsync(int seed, Func<bool> isOver)
        {
#pragma warning disable CA5394 // Not for secrets.
            var random = new Random(seed);
            while (!isOver())
            {
                int file = random.Next(Sizes.Length);
                string path = _folder.PathOf(NameOf(file) + ".gz");
                byte[] coded = Gzip(_versions[file][random.Next(2)]);
                switch (random.Next(8))
                {
                    case 0:
                        await WriteSlowlyAsync(path, coded);
                        break;
                    case 1:
                        using (FileStream cut = new(path, FileMode.OpenOrCreate, FileAccess.Write, FileShare.ReadWrite | FileShare.Delete))
                        {
                            cut.SetLength(random.NextInt64(cut.Length + 1));
                        }

                        break;
                    case 2:
                        int other = random.Next(Sizes.Length);
                        Replace(path, Gzip(_versions[other][0]));
                        break;
                    case 3:
                        File.WriteAllBytes(path, SiteFolder.Bytes(random.Next(5_000)));
                        break;
                    case 4:
                        Replace(_folder.PathOf(NameOf(file)), _versions[file][random.Next(2)]);
                        break;
                    case 5:
                        File.Delete(path);
                        break;
                    default:
                        Replace(path, coded);
                        await Task.Delay(random.Next(150));
                        break;
                }

                await Task.Delay(random.Next(20));
            }
        }

        public async Task AskAsync(HttpClient client, int seed, Tally tally, Func<bool> isOver)
        {
            var random = new Random(seed);
            while (!isOver())
            {
                int file = random.Next(Sizes.Length);
                try
                {
                    (HttpResponseMessage response, byte[] body) = await SiblingTests.AskAsync(client, NameOf(file));
                    bool isCoded = CodingOf(response) == "gzip";
                    if (response.StatusCode != HttpStatusCode.OK || !IsVersion(file, isCoded ? Decoded(body) : body))
                    {
                        tally.Bad.Enqueue($"{NameOf(file)} {response.StatusCode} {CodingOf(response)} {body.Length} bytes");
                    }

                    tally.Count(isCoded);
                }
                catch (HttpRequestException)
                {
                    tally.CountEnded();
                }
            }
#pragma warning restore CA5394
        }

        private static string NameOf(int file) => $"/{file}.js";

        /// <summary>The same bytes again and again, and noise: a third of it remains.</summary>
        private static byte[] Content(int size, int version) =>
            [.. SiteFolder.Bytes((size / 3) + version), .. new byte[size - (size / 3) - version]];

        private static byte[] Gzip(byte[] content)
        {
            using var coded = new MemoryStream();
            using (var coder = new GZipStream(coded, CompressionLevel.Fastest))
            {
                coder.Write(content);
            }

            return coded.ToArray();
        }

        private static byte[] Decoded(byte[] body)
        {
            try
            {
                using var decoder = new GZipStream(new MemoryStream(body), CompressionMode.Decompress);
                using var content = new MemoryStream();
                decoder.CopyTo(content);
                return content.ToArray();
            }
            catch (InvalidDataException)
            {
                return [];
            }
        }

        private bool IsVersion(int file, byte[] body) => Array.Exists(_versions[file], version => body.AsSpan().SequenceEqual(version));

        private static async Task WriteSlowlyAsync(string path, byte[] content)
        {
            using FileStream file = new(path, FileMode.Create, FileAccess.Write, FileShare.ReadWrite | FileShare.Delete, bufferSize: 0);
            for (int at = 0; at < content.Length; at += (content.Length / 8) + 1)
            {
                file.Write(content.AsSpan(at, Math.Min((content.Length / 8) + 1, content.Length - at)));
                await Task.Delay(10);
            }
        }

        private static void Replace(string path, byte[] content)
        {
            string next = $"{path}.{Environment.CurrentManagedThreadId}.next";
            File.WriteAllBytes(next, content);
            File.Move(next, path, overwrite: true);
        }
    }
}
