using System.Text;
using Millrace.Http;
using Millrace.StaticFiles.Compression;
using Millrace.StaticFiles.Snapshots;
using Millrace.StaticFiles.Tests.Kit;

namespace Millrace.StaticFiles.Tests.Compression;

/// <summary>Work on files that keep changing, on a clock that the test moves.</summary>
public sealed class ChangeBackoffTests : IDisposable
{
    private static readonly SitePath Path = SitePath.Of("/log.txt"u8);

    private readonly TempSite _site = TempSite.InMemory();
    private readonly TimedClock _clock = new();

    public void Dispose() => _site.Dispose();

    [Theory]
    [InlineData(0.05, 0.01)]
    [InlineData(0.2, 0.5)]
    [InlineData(0.2, 0.01)]
    [InlineData(1.5, 0.5)]
    [InlineData(3, 0.5)]
    [InlineData(10, 2)]
    [InlineData(70, 2)]
    [InlineData(600, 2)]
    public void The_work_takes_little_of_a_processor_at_any_rate_of_change(double changesEverySeconds, double workSeconds)
    {
        var backoff = new ChangeBackoff(_clock, TimeSpan.FromSeconds(1));
        TimeSpan worked = default;
        int spent = 0;
        for (int i = 0; i < 2000; i++)
        {
            var version = new object();
            spent += Pass(backoff, version, workSeconds, ref worked) ? 1 : 0;
            double left = changesEverySeconds;
            while (backoff.NextDue is TimeSpan due && due.TotalSeconds < left)
            {
                left -= due.TotalSeconds;
                _clock.Advance(due);
                spent += Pass(backoff, version, workSeconds, ref worked) ? 1 : 0;
            }

            _clock.Advance(TimeSpan.FromSeconds(left));
        }

        Assert.InRange(worked.TotalSeconds, 0, (0.06 * changesEverySeconds * 2000) + (8 * workSeconds));
        Assert.InRange(backoff.Count, 0, 1);

        // Each version of a file that is hardly ever changed is worked on.
        Assert.True(changesEverySeconds <= 20 * workSeconds || spent == 2000, $"{spent}");
    }

    [Fact]
    public void The_pause_doubles_up_to_a_limit_and_ends_with_a_result_that_was_of_use()
    {
        var backoff = new ChangeBackoff(_clock, TimeSpan.FromSeconds(1));
        var second = TimeSpan.FromSeconds(1);
        var version = new object();
        Assert.True(backoff.IsDue(Path, version));
        backoff.Spent(Path, version, second);
        foreach (int pause in (int[])[1, 2, 4, 8, 16, 32, 60, 60])
        {
            backoff.Begin();
            version = new object();
            Assert.False(backoff.IsDue(Path, version));
            Assert.Equal(TimeSpan.FromSeconds(pause), backoff.NextDue);
            _clock.Advance(backoff.NextDue!.Value);
            Assert.True(backoff.IsDue(Path, version));
            backoff.Spent(Path, version, second);
        }

        _clock.Advance(TimeSpan.FromSeconds(21));
        Assert.True(backoff.IsDue(Path, new object()));
        Assert.Equal(0, backoff.Count);
    }

    [Fact]
    public void Files_that_go_are_forgotten_and_those_that_stay_take_no_memory()
    {
        var backoff = new ChangeBackoff(_clock, TimeSpan.FromSeconds(1));
        for (int i = 0; i < 10_000; i++)
        {
            SitePath path = SitePath.Of(Encoding.ASCII.GetBytes($"/{i}"));
            Assert.True(backoff.IsDue(path, i));
            _clock.Advance(TimeSpan.FromMilliseconds(10));
            backoff.Spent(path, i, TimeSpan.FromMilliseconds(10));
            Assert.InRange(backoff.Count, 1, 21);
        }

        Assert.False(backoff.IsDue(SitePath.Of("/9999"u8), "changed"));
        _clock.Advance(TimeSpan.FromHours(1));
        Assert.True(backoff.IsDue(Path, 0));
        Assert.Equal(0, backoff.Count);
    }

    [Fact]
    public async Task A_log_that_is_appended_to_is_compressed_when_it_pauses()
    {
        _site.File("log.txt", TestText.Of(4_000));
        using AssetCatalog catalog = await _site.OpenSettledAsync();
        int coded = 0;
        var pass = new CompressionPass(catalog, 1_000_000, static error => Assert.Fail($"{error}"), Code, _clock);
        for (int i = 0; i < 300; i++)
        {
            pass.Run(CancellationToken.None);
            _clock.Advance(TimeSpan.FromMilliseconds(200));
            _site.File("log.txt", TestText.Of(4_000 + i));
            catalog.RefreshNames("", "log.txt");
        }

        // Once in each coding, before it was known to change.
        int once = BodyCoder.Codings.Length;
        Assert.Equal(once, coded);
        pass.Run(CancellationToken.None);
        Assert.Equal(CompressionPass.PauseMin, pass.NextDue);
        Assert.False(catalog.Current.Asset("/log.txt").IsBackgroundCompressed);

        _clock.Advance(pass.NextDue!.Value);
        pass.Run(CancellationToken.None);
        Assert.Equal(2 * once, coded);
        Assert.True(catalog.Current.Asset("/log.txt").IsBackgroundCompressed);
        Assert.Null(pass.NextDue);

        bool Code(ReadOnlySpan<byte> body, ContentCoding coding, CancellationToken stop, out byte[] result)
        {
            coded++;
            _clock.Advance(TimeSpan.FromMilliseconds(300));
            return BodyCoder.TryCode(body, coding, stop, out result);
        }
    }

    private static bool Pass(ChangeBackoff backoff, object version, double workSeconds, ref TimeSpan worked)
    {
        backoff.Begin();
        if (!backoff.IsDue(Path, version))
        {
            return false;
        }

        var took = TimeSpan.FromSeconds(workSeconds);
        worked += took;
        backoff.Spent(Path, version, took);
        return true;
    }
}
