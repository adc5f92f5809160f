using Millrace.Server.Tests.Kit;

namespace Millrace.Server.Tests;

/// <summary>Downloads as people make them: cut and resumed, asked for again, fetched in pieces.</summary>
public class DownloadClientTests
{
    private const string Name = "download.bin";
    private const int LargeBytes = 5_000_000;
    private const int CutAfterBytes = 1_234_567;

    private static readonly TimeSpan Deadline = TimeSpan.FromSeconds(60);

    [Fact]
    public async Task Curl_resumes_a_download_that_was_cut()
    {
        Tool.Require("curl");
        await using Setting setting = await Setting.CreateAsync(LargeBytes);
        string copy = setting.Elsewhere.PathOf("copy");
        setting.Observer.CutNextAfter(CutAfterBytes);

        ToolResult cut = await Tool.RunAsync("curl", "-sS", "-o", copy, setting.Url);
        Assert.Equal(18, cut.ExitCode); // CURLE_PARTIAL_FILE
        long before = new FileInfo(copy).Length;
        Assert.Equal(CutAfterBytes, before);
        await Tool.RunToSuccessAsync(Deadline, "curl", "-sSf", "-C", "-", "-o", copy, setting.Url);

        Assert.Equal(setting.Body, await File.ReadAllBytesAsync(copy));
        AssertResumed(setting.Observer, before);
    }

    [Fact]
    public async Task Wget_resumes_a_download_that_was_cut()
    {
        Tool.Require("wget");
        await using Setting setting = await Setting.CreateAsync(LargeBytes);
        string copy = setting.Elsewhere.PathOf("copy");
        setting.Observer.CutNextAfter(CutAfterBytes);

        await Tool.RunToSuccessAsync(Deadline, "wget", "-q", "-c", "--tries=2", "--waitretry=0", "-O", copy, setting.Url);

        Assert.Equal(setting.Body, await File.ReadAllBytesAsync(copy));
        AssertResumed(setting.Observer, CutAfterBytes);
    }

    [Fact]
    public async Task Curl_by_date_gets_only_what_has_changed()
    {
        Tool.Require("curl");
        await using Setting setting = await Setting.CreateAsync(1000);
        string copy = setting.Elsewhere.PathOf("copy");
        string[] update = ["-sSfR", "-z", copy, "-o", copy, setting.Url];
        await Tool.RunToSuccessAsync(Deadline, "curl", "-sSfR", "-o", copy, setting.Url);

        await Tool.RunToSuccessAsync(Deadline, "curl", update);
        byte[] changed = setting.Rewrite(2000, DateTime.UtcNow.AddHours(-1));
        await setting.AwaitServedAsync(changed.Length);
        await Tool.RunToSuccessAsync(Deadline, "curl", update);

        Assert.Equal([200, 304, 200], Statuses(setting.Observer));
        Assert.Equal(changed, await File.ReadAllBytesAsync(copy));
    }

    [Fact]
    public async Task Curl_by_entity_tag_gets_only_what_has_changed()
    {
        Tool.Require("curl");
        await using Setting setting = await Setting.CreateAsync(1000);
        string copy = setting.Elsewhere.PathOf("copy");
        string tag = setting.Elsewhere.PathOf("tag");
        string[] update = ["-sSf", "--etag-compare", tag, "--etag-save", tag, "-o", copy, setting.Url];
        await Tool.RunToSuccessAsync(Deadline, "curl", "-sSf", "--etag-save", tag, "-o", copy, setting.Url);

        await Tool.RunToSuccessAsync(Deadline, "curl", update);
        byte[] changed = setting.Rewrite(2000, DateTime.UtcNow.AddHours(-1));
        await setting.AwaitServedAsync(changed.Length);
        await Tool.RunToSuccessAsync(Deadline, "curl", update);

        Assert.Equal([200, 304, 200], Statuses(setting.Observer));
        Assert.Equal(changed, await File.ReadAllBytesAsync(copy));
    }

    [Fact]
    public async Task Aria2_fetches_a_file_in_many_pieces_at_once()
    {
        Tool.Require("aria2c");
        await using Setting setting = await Setting.CreateAsync(50_000_000);

        await Tool.RunToSuccessAsync(
            Deadline, "aria2c", "-q", "-x16", "-s16", "-k1M", "--file-allocation=none", "--no-conf", "-d", setting.Elsewhere.Root, setting.Url);

        byte[] got = await File.ReadAllBytesAsync(setting.Elsewhere.PathOf(Name));
        Assert.True(got.AsSpan().SequenceEqual(setting.Body), "The pieces do not make the file.");
        int partial = setting.Observer.Exchanges.Count(static exchange => exchange is { Method: "GET", Status: 206 });
        Assert.True(partial >= 12, $"{partial} answers were partial.");
    }

    private static void AssertResumed(Observer observer, long from)
    {
        Exchange resumed = observer.Exchanges[^1];
        Assert.Equal($"bytes={from}-", resumed.Asked("Range"));
        Assert.Equal(206, resumed.Status);
        Assert.Equal($"bytes {from}-{LargeBytes - 1}/{LargeBytes}", resumed.Reported("Content-Range"));
    }

    private static IEnumerable<int> Statuses(Observer observer) => observer.Exchanges.Select(static exchange => exchange.Status);

    /// <summary>A server of one file, with an observer in front of it, and another folder for the clients' files.</summary>
    private sealed class Setting : IAsyncDisposable
    {
        private readonly TempFolder _root;
        private readonly ServerProcess _server;

        private Setting(TempFolder root, byte[] body, ServerProcess server)
        {
            _root = root;
            _server = server;
            Body = body;
            Observer = new Observer(server.Url);
        }

        public byte[] Body { get; }

        public Observer Observer { get; }

        public TempFolder Elsewhere { get; } = new();

        public string Url => new Uri(Observer.Url, Name).ToString();

        /// <summary>The file is two hours old: a date is a strong validator only when it is old enough.</summary>
        public static async Task<Setting> CreateAsync(int bytes)
        {
            var root = new TempFolder();
            byte[] body = root.Add(Name, bytes);
            File.SetLastWriteTimeUtc(root.PathOf(Name), DateTime.UtcNow.AddHours(-2));
            return new Setting(root, body, await ServerProcess.StartAsync(root.Root, "--listen", "127.0.0.1:0"));
        }

        public byte[] Rewrite(int bytes, DateTime modifiedAt)
        {
            byte[] body = _root.Add(Name + ".new", bytes);
            File.SetLastWriteTimeUtc(_root.PathOf(Name + ".new"), modifiedAt);
            File.Move(_root.PathOf(Name + ".new"), _root.PathOf(Name), overwrite: true);
            return body;
        }

        /// <summary>Without the observer, which counts the requests of the clients under test.</summary>
        public Task AwaitServedAsync(int bytes) => Wire.AwaitAsync(
            _server.Url, $"/{Name}", response => response.Status == 200 && response.Body.Length == bytes);

        public async ValueTask DisposeAsync()
        {
            await Observer.DisposeAsync();
            await _server.DisposeAsync();
            _root.Dispose();
            Elsewhere.Dispose();
        }
    }
}
