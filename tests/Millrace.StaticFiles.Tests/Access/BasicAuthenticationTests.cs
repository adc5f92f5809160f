using System.Diagnostics;
using System.Text;
using Millrace.StaticFiles.Access;
using Millrace.StaticFiles.Planning;
using Millrace.StaticFiles.Tests.Kit;
using Millrace.Tests.Shared;

namespace Millrace.StaticFiles.Tests.Access;

public sealed class BasicAuthenticationTests : IDisposable
{
    private readonly TempSite _site = new();
    private readonly ManualTime _time = new();
    private readonly List<SiteException> _refusals = [];

    private string Path => _site.PathOf("users");

    public void Dispose() => _site.Dispose();

    [Theory]
    [InlineData(TestHash.Bcrypt)]
    [InlineData(TestHash.Sha512)]
    [InlineData(TestHash.Sha256)]
    [InlineData(TestHash.Yescrypt)]
    public async Task The_right_password_is_verified_once_and_then_granted_at_once(string setting)
    {
        using BasicAuthentication access = Open($"ann:{TestHash.Of("pass: wörd", setting)}\n");
        byte[] credentials = Credentials("ann", "pass: wörd");

        Assert.Equal(AccessDecision.Unverified, access.Decide(credentials));
        Assert.Equal(AccessDecision.Granted, await access.VerifyAsync([.. credentials]));
        Assert.Equal(AccessDecision.Granted, access.Decide(credentials));
    }

    [Theory]
    [InlineData("ann", "Secret")]
    [InlineData("ann", "secret ")]
    [InlineData("ann", "")]
    [InlineData("Ann", "secret")]
    [InlineData("nobody", "secret")]
    [InlineData("", "secret")]
    public async Task The_wrong_password_or_user_is_denied_each_time(string user, string password)
    {
        using BasicAuthentication access = Open($"ann:{TestHash.Of("secret")}\n");
        byte[] credentials = Credentials(user, password);

        for (int i = 0; i < 2; i++)
        {
            Assert.Equal(AccessDecision.Unverified, access.Decide(credentials));
            Assert.Equal(AccessDecision.Denied, await access.VerifyAsync([.. credentials]));
        }
    }

    [Theory]
    [InlineData("")]
    [InlineData("Basic")]
    [InlineData("Basic !!!")]
    [InlineData("Basic YW5u")]
    [InlineData("Bearer YW5uOnNlY3JldA==")]
    public void No_credentials_or_malformed_ones_are_denied_without_a_hash(string authorization)
    {
        using BasicAuthentication access = Open($"ann:{TestHash.Of("secret")}\n");

        Assert.Equal(AccessDecision.Denied, access.Decide(Encoding.ASCII.GetBytes(authorization)));
    }

    [Fact]
    public async Task Credentials_of_any_length_are_answered()
    {
        using BasicAuthentication access = Open($"ann:{TestHash.Of("secret")}\n");

        for (int length = 0; length < 3000; length += 7)
        {
            byte[] credentials = Credentials("ann", new string('x', length));
            if (access.Decide(credentials) == AccessDecision.Unverified)
            {
                Assert.Equal(AccessDecision.Denied, await access.VerifyAsync(credentials));
            }
        }

        Assert.Equal(AccessDecision.Denied, access.Decide(Credentials("ann", new string('x', 3000))));
    }

    [Fact]
    public async Task Somebody_unknown_costs_as_much_time_as_somebody_known()
    {
        using BasicAuthentication access = Open($"ann:{TestHash.Of("secret", TestHash.Slow)}\n");

        // The least of some, as who shares the processor makes each dearer for a while. Without a hash it would be some thousandth.
        double ratio = 0;
        var known = TimeSpan.MaxValue;
        var unknown = TimeSpan.MaxValue;
        for (int i = 0; i < 10 && ratio is < 0.5 or > 2; i++)
        {
            known = Least(known, await CostAsync(access, "ann"));
            unknown = Least(unknown, await CostAsync(access, "nobody"));
            ratio = unknown / known;
        }

        Assert.InRange(ratio, 0.5, 2);

        static TimeSpan Least(TimeSpan one, TimeSpan other) => one < other ? one : other;
    }

    [Fact]
    public async Task Somebody_unknown_is_denied_even_with_the_password_of_the_user_they_are_compared_with()
    {
        using BasicAuthentication access = Open($"ann:{TestHash.Of("secret")}\n");
        byte[] credentials = Credentials("nobody", "secret");

        Assert.Equal(AccessDecision.Denied, await access.VerifyAsync([.. credentials]));
        Assert.Equal(AccessDecision.Granted, await access.VerifyAsync(Credentials("ann", "secret")));
        Assert.Equal(AccessDecision.Denied, await access.VerifyAsync([.. credentials]));
        Assert.Equal(AccessDecision.Unverified, access.Decide(credentials));
    }

    [Fact]
    public async Task A_changed_password_and_a_removed_user_count_from_the_next_check_on()
    {
        using BasicAuthentication access = Open($"ann:{TestHash.Of("secret")}\nbob:{TestHash.Of("secret")}\n");
        byte[] ann = Credentials("ann", "secret");
        byte[] bob = Credentials("bob", "secret");
        Assert.Equal(AccessDecision.Granted, await access.VerifyAsync([.. ann]));
        Assert.Equal(AccessDecision.Granted, await access.VerifyAsync([.. bob]));

        File.WriteAllText(Path, $"ann:{TestHash.Of("changed")}\n");
        access.Refresh();

        Assert.Equal(AccessDecision.Unverified, access.Decide(ann));
        Assert.Equal(AccessDecision.Denied, await access.VerifyAsync(ann));
        Assert.Equal(AccessDecision.Denied, await access.VerifyAsync(bob));
        Assert.Equal(AccessDecision.Granted, await access.VerifyAsync(Credentials("ann", "changed")));
    }

    [Fact]
    public async Task An_invalid_file_is_reported_once_and_the_users_stay()
    {
        using BasicAuthentication access = Open($"ann:{TestHash.Of("secret")}\n");
        Assert.Equal(AccessDecision.Granted, await access.VerifyAsync(Credentials("ann", "secret")));

        File.WriteAllText(Path, "ann:secret\n");
        access.Refresh();
        access.Refresh();

        Assert.Single(_refusals);
        Assert.Equal(AccessDecision.Granted, access.Decide(Credentials("ann", "secret")));

        File.WriteAllText(Path, $"ann:{TestHash.Of("changed")}\n");
        access.Refresh();
        Assert.Equal(AccessDecision.Unverified, access.Decide(Credentials("ann", "secret")));
        File.WriteAllText(Path, "ann:secret\n");
        access.Refresh();
        Assert.Equal(2, _refusals.Count);
    }

    [Fact]
    public async Task The_file_is_checked_by_a_timer()
    {
        File.WriteAllText(Path, $"ann:{TestHash.Of("secret")}\n");
        using BasicAuthentication access = BasicAuthentication.Open(Path, "Millrace");
        byte[] ann = Credentials("ann", "secret");
        Assert.Equal(AccessDecision.Granted, await access.VerifyAsync([.. ann]));

        File.WriteAllText(Path, "");

        var waited = Stopwatch.StartNew();
        while (access.Decide(ann) == AccessDecision.Granted)
        {
            Assert.True(waited.Elapsed < TimeSpan.FromSeconds(30));
            await Task.Delay(50, TestContext.Current.CancellationToken);
        }
    }

    [Fact]
    public async Task An_entry_ends_after_its_lifetime()
    {
        using BasicAuthentication access = Open($"ann:{TestHash.Of("secret")}\n");
        byte[] ann = Credentials("ann", "secret");
        await access.VerifyAsync([.. ann]);

        _time.Advance(CredentialCache.Lifetime);

        Assert.Equal(AccessDecision.Unverified, access.Decide(ann));
    }

    [Fact]
    public async Task Requests_that_waited_for_the_same_credentials_cost_one_hash()
    {
        using BasicAuthentication access = Open($"ann:{TestHash.Of("secret", TestHash.Slow)}\n");
        TimeSpan ten = await CostAsync(access, "ann");

        var threads = new HashingThreads();
        AccessDecision[] outcomes = await Task.WhenAll(
            Enumerable.Range(0, VerificationQueue.WaitingMax).Select(_ => access.VerifyAsync(Credentials("ann", "secret"))));

        // One for each thread at most, of 64.
        Assert.All(outcomes, outcome => Assert.Equal(AccessDecision.Granted, outcome));
        Assert.True(threads.Used() < ten, $"{threads.Used()}, and {ten} for ten");
    }

    [Fact]
    public async Task A_granted_request_allocates_nothing()
    {
        using BasicAuthentication access = Open($"ann:{TestHash.Of("secret")}\n");
        byte[] ann = Credentials("ann", "secret");
        await access.VerifyAsync([.. ann]);
        Assert.Equal(AccessDecision.Granted, access.Decide(ann));

        long allocated = Allocations.OfEach(() =>
        {
            for (int i = 0; i < 1000; i++)
            {
                _ = access.Decide(ann);
            }
        });

        Assert.Equal(0, allocated);
    }

    [Fact]
    public void The_challenge_quotes_its_realm()
    {
        File.WriteAllText(Path, "");
        using BasicAuthentication access = BasicAuthentication.Open(Path, "a \"b\" \\ ü", time: _time);

        Assert.Equal("Basic realm=\"a \\\"b\\\" \\\\ ü\", charset=\"UTF-8\"", Encoding.UTF8.GetString(access.Challenge));
        Assert.Throws<SiteException>(() => BasicAuthentication.Open(Path, "a\r\nSet-Cookie: b"));
    }

    [Fact]
    public async Task A_file_without_users_lets_nobody_in()
    {
        using BasicAuthentication access = Open("# nobody yet\n");

        Assert.Equal(AccessDecision.Denied, await access.VerifyAsync(Credentials("ann", "")));
        Assert.Equal(AccessDecision.Denied, await access.VerifyAsync(Credentials("", "")));
    }

    [Fact]
    public async Task What_htpasswd_writes_is_understood()
    {
        Assert.SkipUnless(File.Exists("/usr/bin/htpasswd"), "htpasswd is not installed");
        using (Process htpasswd = Process.Start(
            new ProcessStartInfo("/usr/bin/htpasswd", ["-c", "-b", "-B", Path, "ann", "secret"]) { RedirectStandardError = true })!)
        {
            await htpasswd.WaitForExitAsync(TestContext.Current.CancellationToken);
        }

        using BasicAuthentication access = BasicAuthentication.Open(Path, "Millrace");

        Assert.Equal(AccessDecision.Granted, await access.VerifyAsync(Credentials("ann", "secret")));
        Assert.Equal(AccessDecision.Denied, await access.VerifyAsync(Credentials("ann", "secre")));
    }

    private BasicAuthentication Open(string users)
    {
        File.WriteAllText(Path, users);
        return BasicAuthentication.Open(Path, "Millrace", _refusals.Add, _time);
    }

    private static byte[] Credentials(string user, string password) =>
        Encoding.ASCII.GetBytes("Basic " + Convert.ToBase64String(Encoding.UTF8.GetBytes($"{user}:{password}")));

    /// <summary>What ten wrong passwords take of the processors.</summary>
    private static async Task<TimeSpan> CostAsync(BasicAuthentication access, string user)
    {
        // The threads are there when one of them has answered.
        Assert.Equal(AccessDecision.Denied, await access.VerifyAsync(Credentials(user, "wrong")));
        var threads = new HashingThreads();
        for (int i = 0; i < 10; i++)
        {
            Assert.Equal(AccessDecision.Denied, await access.VerifyAsync(Credentials(user, $"wrong{i}")));
        }

        return threads.Used();
    }
}
