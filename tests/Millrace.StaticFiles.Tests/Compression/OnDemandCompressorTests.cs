using Millrace.Http;
using Millrace.StaticFiles.Compression;
using Millrace.StaticFiles.Planning;
using Millrace.StaticFiles.Snapshots;
using Millrace.StaticFiles.Tests.Kit;
using Millrace.StaticFiles.Tests.Planning;

namespace Millrace.StaticFiles.Tests.Compression;

public sealed class OnDemandCompressorTests : IDisposable
{
    private readonly PlannedSite _site = new();
    private readonly List<Exception> _failures = [];
    private readonly ManualResetEventSlim _mayCode = new(initialState: true);

    /// <summary>What was coded, in this order. Guarded by itself.</summary>
    private readonly List<byte[]> _coded = [];

    public OnDemandCompressorTests() => _site.Options = _site.Files.Options;

    public void Dispose()
    {
        _mayCode.Set();
        _site.OnDemand?.Dispose();
        _site.Dispose();
        _mayCode.Dispose();
    }

    [Fact]
    public async Task A_text_is_coded_once_it_was_asked_for_and_the_request_does_not_wait()
    {
        byte[] body = TestText.Of(100_000);
        _site.Files.File("a.txt", body);
        Start();
        _mayCode.Reset();

        Assert.Equal(ContentCoding.Identity, CodingOf("gzip, br"));
        Assert.Equal(ContentCoding.Identity, CodingOf("gzip"));
        _mayCode.Set();
        await TempSite.UntilAsync(() => CodingOf("gzip, br") == ContentCoding.Gzip);

        Asset asset = _site.Asset("/a.txt");
        Assert.Equal(body, TestText.Decode(ContentCoding.Gzip, asset.VariantFor(ContentCoding.Gzip)!.InMemoryBody));
        Assert.Equal(ContentCoding.Identity, CodingOf("br"));
        Assert.Single(_coded);
        Assert.False(asset.IsBackgroundCompressed);
        Assert.Empty(_failures);
    }

    [Theory]
    [InlineData("a.txt", "")]
    [InlineData("a.txt", "br")]
    [InlineData("a.txt", "identity, gzip;q=0.5")]
    [InlineData("a.txt", "gzip;q=0, *")]
    [InlineData("a.png", "gzip")]
    [InlineData("small.txt", "gzip")]
    [InlineData("huge.txt", "gzip")]
    [InlineData("sibling.txt", "gzip")]
    public void What_would_not_be_sent_is_not_coded(string name, string acceptEncoding)
    {
        _site.Files.File("a.txt", TestText.Of(10_000));
        _site.Files.File("a.png", TestText.Of(10_000));
        _site.Files.File("small.txt", TestText.Of(BodyCoder.BytesMin - 1));
        _site.Files.File("huge.txt", new byte[BodyCoder.BytesMax + 1]);
        _site.Files.File("sibling.txt", TestText.Of(10_000));
        _site.Files.File("sibling.txt.gz", CodedContent.Of(TestText.Of(10_000), ContentCoding.Gzip));
        Start();

        Planned plan = _site.Get($"/{name}", $"Accept-Encoding: {acceptEncoding}");
        Planned part = _site.Get($"/{name}", "Accept-Encoding: br", "Range: bytes=0-9");

        Assert.Equal((PlanStatus.Ok, PlanStatus.PartialContent), (plan.Status, part.Status));
        Assert.False(_site.Asset($"/{name}").IsInterimQueued);
    }

    [Fact]
    public async Task The_page_of_an_error_is_coded_too()
    {
        _site.Files.File("404.html", TestText.Of(10_000));
        Start();

        _site.Get("/nothing", "Accept-Encoding: gzip");

        await TempSite.UntilAsync(() => _site.Get("/nothing", "Accept-Encoding: gzip").Asset!.Coding == ContentCoding.Gzip);
    }

    [Fact]
    public async Task A_text_that_gains_nothing_is_tried_once()
    {
        _site.Files.File("a.txt", TestText.Noise(10_000));
        _site.Files.File("b.txt", TestText.Of(10_000));
        Start();

        Assert.Equal(ContentCoding.Identity, CodingOf("gzip"));
        await TempSite.UntilAsync(() => _site.Get("/b.txt", "Accept-Encoding: gzip").Asset!.Coding == ContentCoding.Gzip);
        Assert.Equal(ContentCoding.Identity, CodingOf("gzip"));

        Assert.Equal(2, CodedCount);
        Assert.False(_site.Asset("/a.txt").WantsInterim);
    }

    [Fact]
    public async Task Of_more_files_than_may_wait_the_last_are_coded_when_they_are_asked_for_again()
    {
        const int Count = OnDemandCompressor.WaitingMax + 10;
        for (int i = 0; i < Count; i++)
        {
            _site.Files.File($"{i}.txt", TestText.Of(1_000, seed: i));
        }

        Start();
        _mayCode.Reset();
        _site.Get("/0.txt", "Accept-Encoding: gzip");
        await TempSite.UntilAsync(() => CodedCount == 1);
        for (int i = 1; i < Count; i++)
        {
            _site.Get($"/{i}.txt", "Accept-Encoding: gzip");
        }

        Assert.Equal(1 + OnDemandCompressor.WaitingMax, Enumerable.Range(0, Count).Count(i => _site.Asset($"/{i}.txt").IsInterimQueued));
        _mayCode.Set();
        await TempSite.UntilAsync(() => Enumerable.Range(0, Count).All(i =>
            _site.Get($"/{i}.txt", "Accept-Encoding: gzip").Asset!.Coding == ContentCoding.Gzip));
        Assert.Equal(Count, CodedCount);
    }

    [Fact]
    public async Task A_file_that_changed_meanwhile_gets_no_coding_of_either_content()
    {
        _site.Options = _site.Options with { CacheFileBytesMax = 0 };
        _site.Files.File("a.txt", TestText.Of(10_000, seed: 1));
        Start();
        Asset before = _site.Asset("/a.txt");
        _site.Files.File("a.txt", TestText.Of(10_000, seed: 2));
        _site.Files.File("b.txt", TestText.Of(10_000));
        _site.Catalog.Refresh([new DirectoryChange([], ["b.txt"u8.ToArray()])]);

        _site.Get("/a.txt", "Accept-Encoding: gzip");
        _site.Get("/b.txt", "Accept-Encoding: gzip");
        await TempSite.UntilAsync(() => _site.Asset("/b.txt").VariantFor(ContentCoding.Gzip) is not null);

        Assert.Null(before.VariantFor(ContentCoding.Gzip));
        _site.Catalog.Reload();
        _site.Get("/a.txt", "Accept-Encoding: gzip");
        await TempSite.UntilAsync(() => CodingOf("gzip") == ContentCoding.Gzip);
    }

    [Fact]
    public async Task A_failure_is_reported_and_keeps_no_other_file_from_being_coded()
    {
        _site.Files.File("a.txt", TestText.Of(10_000));
        _site.Files.File("b.txt", TestText.Of(10_000));
        int tries = 0;
        Start((ReadOnlySpan<byte> body, ContentCoding coding, CancellationToken stop, out byte[] coded) => Interlocked.Increment(ref tries) == 1
            ? throw new IOException("no such luck")
            : BodyCoder.TryCodeQuickly(body, coding, stop, out coded));

        _site.Get("/a.txt", "Accept-Encoding: gzip");
        _site.Get("/b.txt", "Accept-Encoding: gzip");
        await TempSite.UntilAsync(() => _site.Asset("/b.txt").VariantFor(ContentCoding.Gzip) is not null);

        Assert.Equal("no such luck", Assert.Single(_failures).Message);
    }

    [Fact]
    public async Task Its_end_waits_for_the_file_being_coded_and_takes_no_other()
    {
        _site.Files.File("a.txt", TestText.Of(10_000));
        _site.Files.File("b.txt", TestText.Of(10_000));
        Start();
        _mayCode.Reset();
        _site.Get("/a.txt", "Accept-Encoding: gzip");
        await TempSite.UntilAsync(() => CodedCount == 1);
        _site.Get("/b.txt", "Accept-Encoding: gzip");

        Task end = Task.Run(_site.OnDemand!.Dispose, TestContext.Current.CancellationToken);
        _site.OnDemand = null;
        await Task.Delay(50, TestContext.Current.CancellationToken);
        Assert.False(end.IsCompleted);
        _mayCode.Set();
        await end.WaitAsync(TimeSpan.FromSeconds(30), TestContext.Current.CancellationToken);

        Assert.Equal(1, CodedCount);
        Assert.Null(_site.Asset("/b.txt").VariantFor(ContentCoding.Gzip));
    }

    [Fact]
    public async Task The_better_coding_takes_its_place_and_what_a_client_has_of_it_is_not_continued()
    {
        _site.Files.File("a.txt", TestText.Of(100_000));
        Start();
        _site.UnixSeconds += 3600;
        _site.Get("/a.txt", "Accept-Encoding: gzip");
        await TempSite.UntilAsync(() => CodingOf("gzip") == ContentCoding.Gzip);
        Asset interim = _site.Asset("/a.txt").VariantFor(ContentCoding.Gzip)!;
        string tag = interim.Tag();
        string date = DateTimeOffset.FromUnixTimeSeconds(interim.LastModified).ToString("R");
        Assert.Equal(PlanStatus.NotModified, Ask("gzip", $"If-None-Match: {tag}").Status);
        Assert.Equal(PlanStatus.PartialContent, Ask("gzip", "Range: bytes=10-", $"If-Range: {tag}").Status);

        using BackgroundCompressor compressor = BackgroundCompressor.Start(_site.Catalog, _site.Options, _failures.Add);
        await TempSite.UntilAsync(() => CodingOf("br") == ContentCoding.Brotli && _site.Catalog.Current.Retired.IsEmpty);

        Asset better = _site.Asset("/a.txt").VariantFor(ContentCoding.Gzip)!;
        Assert.True(better.Size < interim.Size);
        Assert.NotEqual(tag, better.Tag());
        Assert.Equal((PlanStatus.Ok, better), Chosen(Ask("gzip", $"If-None-Match: {tag}")));
        Assert.Equal(PlanStatus.PreconditionFailed, Ask("gzip", $"If-Match: {tag}").Status);
        Assert.Equal(PlanStatus.Ok, Ask("gzip", "Range: bytes=10-", $"If-Range: {tag}").Status);
        // Both have the date of the file: it does not say which of them the client has.
        Assert.Equal((PlanStatus.Ok, better), Chosen(Ask("gzip, identity;q=0", "Range: bytes=10-", $"If-Range: {date}")));
        Assert.Equal(PlanStatus.PartialContent, Ask("gzip", "Range: bytes=10-", $"If-Range: {date}").Status);
        Assert.Empty(_failures);

        Planned Ask(string acceptEncoding, params string[] fields) => _site.Get("/a.txt", [$"Accept-Encoding: {acceptEncoding}", .. fields]);

        static (int, Asset?) Chosen(Planned plan) => (plan.Status, plan.Asset);
    }

    private int CodedCount
    {
        get
        {
            lock (_coded)
            {
                return _coded.Count;
            }
        }
    }

    private ContentCoding CodingOf(string acceptEncoding) => _site.Get("/a.txt", $"Accept-Encoding: {acceptEncoding}").Asset!.Coding;

    private void Start(EncodeBody? code = null) => _site.OnDemand = new OnDemandCompressor(_site.Catalog, _failures.Add, code ?? Code);

    private bool Code(ReadOnlySpan<byte> body, ContentCoding coding, CancellationToken stop, out byte[] coded)
    {
        lock (_coded)
        {
            _coded.Add(body.ToArray());
        }

        _mayCode.Wait(CancellationToken.None);
        return BodyCoder.TryCodeQuickly(body, coding, stop, out coded);
    }
}
