using System.Diagnostics;
using System.Runtime.Versioning;
using System.Security.Cryptography;
using System.Text.Json.Nodes;
using Microsoft.Extensions.Logging;
using Microsoft.Extensions.Logging.Abstractions;
using Millrace.Acme.Storage;
using Millrace.Acme.Tests.Renewal;

namespace Millrace.Acme.Tests.Storage;

/// <summary>The folder: who may read it, what is not readable in it, and what is left of a crash.</summary>
[SupportedOSPlatform("linux")]
public sealed class StoreTests : AcmeTest
{
    private const UnixFileMode Private = UnixFileMode.UserRead | UnixFileMode.UserWrite;
    private static readonly AcmeLog Silent = new(NullLogger.Instance);
    private readonly DirectoryInfo _folder = Directory.CreateTempSubdirectory("millrace-store-");

    public override ValueTask DisposeAsync()
    {
        _folder.Delete(recursive: true);
        return base.DisposeAsync();
    }

    [Fact]
    public void A_folder_is_created_for_its_owner_only()
    {
        string path = Path.Combine(_folder.FullName, "a", "b");
        using AcmeStore store = AcmeStore.Open(path, Silent);
        Assert.Equal(Private | UnixFileMode.UserExecute, File.GetUnixFileMode(path));
        Assert.True(store.IsHolder);
    }

    [Fact]
    public void A_folder_that_all_users_can_write_is_refused()
    {
        File.SetUnixFileMode(_folder.FullName, Private | UnixFileMode.UserExecute | UnixFileMode.OtherWrite);
        string message = Assert.Throws<AcmeConfigurationException>(() => AcmeStore.Open(_folder.FullName, Silent)).Message;
        Assert.Contains($"chmod o-w {_folder.FullName}", message, StringComparison.Ordinal);
    }

    // A volume of Kubernetes: its root is root's and readable; with fsGroup each mount lets the group read and write all that is in it.
    [Theory]
    [InlineData("")]
    [InlineData("acme")]
    public async Task A_volume_whose_group_bits_are_set_at_each_mount_is_used_and_its_files_are_private_again(string folder)
    {
        await using AcmeWorld world = await AcmeWorld.CreateAsync();
        string store = Path.Combine(_folder.FullName, folder);
        for (int mount = 0; mount < 2; mount++)
        {
            Assert.Equal("", await ToolAsync("chmod", "-R", "g+rwX,o+rX", _folder.FullName));
            Assert.Equal("", await ToolAsync("find", _folder.FullName, "-type", "d", "-exec", "chmod", "g+s", "{}", "+"));
            RunningManager running = world.Start(options => options with { Directory = store });
            await world.RunUntilAsync(() => running.Only.File is not null, Soon);
            await world.StopAsync(running);
            Assert.Equal("", await ToolAsync("find", store, "-mindepth", "1", "-perm", "/077"));
        }

        Assert.Equal(1, world.Authority.Count("new-order"));
        Assert.NotEqual(0, (int)(File.GetUnixFileMode(_folder.FullName) & UnixFileMode.GroupWrite));
    }

    [Fact]
    public void What_is_not_the_stores_is_left_alone()
    {
        string outside = Path.Combine(_folder.FullName, "outside");
        string store = Path.Combine(_folder.FullName, "store");
        string[] files =
        [
            Write("outside", "a.tmp"), Write("store", "mine.tmp"), Write("store", "mine.pem"), Write("store", "other", "a.tmp"),
        ];
        foreach (string name in (string[])["accounts", "certificates", "challenges"])
        {
            Directory.CreateDirectory(Path.Combine(store, name));
            File.CreateSymbolicLink(Path.Combine(store, name, "link"), outside);
        }

        Directory.CreateDirectory(Path.Combine(store, "certificates", "a"));
        File.CreateSymbolicLink(Path.Combine(store, "certificates", "a", "certificate.pem"), files[2]);
        AcmeStore.Open(store, Silent).Dispose();
        Assert.All(files, static file => Assert.Equal(Private | UnixFileMode.GroupRead, File.GetUnixFileMode(file)));

        string Write(params string[] path)
        {
            string file = Path.Combine([_folder.FullName, .. path]);
            Directory.CreateDirectory(Path.GetDirectoryName(file)!);
            File.WriteAllText(file, "");
            File.SetUnixFileMode(file, Private | UnixFileMode.GroupRead);
            return file;
        }
    }

    [Fact]
    public void Challenges_of_a_holder_that_was_killed_are_removed_by_the_next()
    {
        using (AcmeStore killed = AcmeStore.Open(_folder.FullName, Silent))
        {
            killed.Challenges().AddHttp("token", "token.thumbprint");
        }

        using AcmeStore next = AcmeStore.Open(_folder.FullName, Silent);
        Assert.Empty(Directory.GetFiles(Path.Combine(_folder.FullName, "challenges")));
    }

    [Theory]
    [InlineData("/proc/acme")]
    [InlineData("/dev/null")]
    [InlineData("/dev/null/acme")]
    public void A_folder_that_cannot_be_created_is_refused(string path)
    {
        string message = Assert.Throws<AcmeConfigurationException>(() => AcmeStore.Open(path, Silent)).Message;
        Assert.Contains($"Certificates cannot be stored in {path}", message, StringComparison.Ordinal);
    }

    [Fact]
    public void The_lock_is_one_holders_and_ends_with_it()
    {
        string path = Path.Combine(_folder.FullName, "store");
        using AcmeStore first = AcmeStore.Open(path, Silent);
        using AcmeStore second = AcmeStore.Open(path, Silent);
        Assert.True(first.IsHolder);
        Assert.False(second.IsHolder);
        Assert.False(second.TryLock());
        first.Dispose();
        Assert.True(second.TryLock());
        Assert.True(second.IsHolder);
    }

    [Fact]
    public void What_was_half_written_is_removed_by_the_next_holder()
    {
        string path = Path.Combine(_folder.FullName, "store");
        AcmeStore.Open(path, Silent).Dispose();
        string half = Path.Combine(path, "certificates", "a", "certificate.pem.tmp");
        Directory.CreateDirectory(Path.GetDirectoryName(half)!);
        File.WriteAllText(half, "-----BEGIN PRIV");
        using AcmeStore store = AcmeStore.Open(path, Silent);
        Assert.False(File.Exists(half));
    }

    [Fact]
    public void A_file_is_replaced_as_a_whole_and_hidden()
    {
        string file = Path.Combine(_folder.FullName, "file");
        new AtomicFiles().Write(file, "first");
        var steps = new List<string>();
        new AtomicFiles(step =>
        {
            steps.Add(step);
            Assert.Equal(step.StartsWith("after", StringComparison.Ordinal) ? "second" : "first", File.ReadAllText(file));
        }).Write(file, "second");
        Assert.Equal(3, steps.Count);
        Assert.Equal(Private, File.GetUnixFileMode(file));
        Assert.Equal(["file"], Directory.GetFiles(_folder.FullName).Select(Path.GetFileName));
    }

    [Theory]
    [InlineData("certificate.pem", "garbage")]
    [InlineData("certificate.pem", "empty")]
    [InlineData("certificate.pem", "truncated")]
    [InlineData("certificate.pem", "otherKey")]
    [InlineData("renewal.json", "garbage")]
    [InlineData("renewal.json", "empty")]
    [InlineData("renewal.json", "truncated")]
    [InlineData("account.json", "garbage")]
    [InlineData("account.json", "foreign")]
    [InlineData("account.key", "garbage")]
    [InlineData("account.key", "truncated")]
    [InlineData("account.key", "rsa")]
    public async Task What_is_not_readable_is_named_and_obtained_again(string name, string fault)
    {
        RunningManager first = await World.ObtainAsync();
        await World.StopAsync(first);
        string file = Directory.GetFiles(World.Store, name, SearchOption.AllDirectories).Single();
        string good = File.ReadAllText(file);
        using ECDsa otherKey = ECDsa.Create(ECCurve.NamedCurves.nistP256);
        using RSA rsa = RSA.Create(2048);
        File.WriteAllText(file, fault switch
        {
            "garbage" => "\0\u0001 not what it was {",
            "empty" => "",
            "truncated" => good[..(good.Length * 2 / 3)],
            "otherKey" => good[..good.IndexOf("-----BEGIN PRIVATE", StringComparison.Ordinal)] + otherKey.ExportPkcs8PrivateKeyPem(),
            "rsa" => rsa.ExportPkcs8PrivateKeyPem(),
            "foreign" => good.Replace("/directory", "/other-directory", StringComparison.Ordinal),
            _ => throw new ArgumentOutOfRangeException(nameof(fault)),
        });

        RunningManager second = World.Start();
        await World.RunForAsync(TimeSpan.FromDays(62));
        Assert.Contains(World.Log.Lines, line => line.Level == LogLevel.Warning && line.Text.Contains(file, StringComparison.Ordinal));
        Assert.DoesNotContain(World.Log.Lines, static line => line.Level > LogLevel.Warning);
        Assert.Equal(0, second.Only.Failures);
        StoredCertificate stored = StoredCertificate.Parse(File.ReadAllText(second.Only.File!));
        Assert.True(stored.NotAfter > World.Now + TimeSpan.FromDays(20));

        // A certificate that is lost is ordered again; all else costs no order, and no key of an account is deleted.
        Assert.InRange(World.Authority.Orders.Count, 2, name == "certificate.pem" ? 3 : 2);
        Assert.Equal(name == "account.key" ? 2 : 1, Directory.GetFiles(World.Store, "account*.key", SearchOption.AllDirectories).Length);
        Assert.Equal(name == "account.key" ? 2 : 1, World.Authority.Accounts.Count);
    }

    [Theory]
    [InlineData("garbage", 2)]
    [InlineData("names", 2)]
    [InlineData("key", 2)]
    [InlineData("account", 2)]
    [InlineData("none", 1)]
    public async Task An_order_that_cannot_be_continued_is_made_again(string fault, int orders)
    {
        World.Authority.IssuanceTime = TimeSpan.FromMinutes(2);
        RunningManager first = World.Start();
        await World.RunUntilAsync(() => World.Authority.Count("finalize") == 1, Soon);
        await World.StopAsync(first);
        string file = Directory.GetFiles(World.Store, "order.json", SearchOption.AllDirectories).Single();
        string good = File.ReadAllText(file);
        File.WriteAllText(file, fault switch
        {
            "garbage" => good[..20],
            "names" => good.Replace("\"example.org\"", "\"example.com\"", StringComparison.Ordinal),
            "key" => good.Replace("BEGIN PRIVATE", "BEGIN PUBLIC", StringComparison.Ordinal),
            "account" => good.Replace("/account/0", "/account/7", StringComparison.Ordinal),
            _ => good,
        });
        RunningManager second = World.Start();
        await World.RunUntilAsync(() => second.Only.File is not null, TimeSpan.FromMinutes(5));
        Assert.Equal(orders, World.Authority.Orders.Count);
        Assert.Equal(0, second.Only.Failures);
    }

    [Theory]
    [InlineData("invalid")]
    [InlineData("expired")]
    public async Task An_order_that_ended_is_made_again(string end)
    {
        World.Authority.IsStuck = true;
        World.Authority.OrderLifetime = TimeSpan.FromDays(1);
        RunningManager first = World.Start();
        await World.RunUntilAsync(() => World.Authority.Count("challenge") == 1, Soon);
        await World.StopAsync(first);
        World.Authority.IsStuck = false;
        if (end == "invalid")
        {
            World.Authority.Orders[0].IsInvalid = true;
        }
        else
        {
            World.Clock.Advance(TimeSpan.FromDays(2));
        }

        RunningManager second = await World.ObtainAsync();
        Assert.Equal(2, World.Authority.Orders.Count);
        Assert.DoesNotContain("pending", World.Authority.Authorizations.Select(static one => one.Status));
    }

    [Theory]
    [InlineData("before writing account.key", 0)]
    [InlineData("before writing order.json", 0)]
    [InlineData("before writing certificate.pem", 1)]
    [InlineData("before writing renewal.json", 1)]
    public async Task A_full_disk_costs_no_order(string step, int orders)
    {
        bool isFull = true;
        RunningManager running = World.Start(step: current =>
        {
            if (isFull && current == step)
            {
                throw new IOException("No space left on device");
            }
        });
        await World.RunForAsync(TimeSpan.FromHours(1));
        Assert.Equal(orders, World.Authority.Orders.Count);
        isFull = false;
        await World.RunForAsync(TimeSpan.FromHours(2));
        Assert.Single(World.Authority.Orders);
        Assert.Single(World.Authority.Accounts);
        Assert.Equal(0, running.Only.Failures);
        StoredCertificate.Parse(File.ReadAllText(running.Only.File!));
    }

    [Fact]
    public async Task A_state_that_cannot_be_true_neither_stops_renewal_nor_makes_a_storm()
    {
        RunningManager first = await World.ObtainAsync();
        await World.StopAsync(first);
        File.WriteAllText(
            Directory.GetFiles(World.Store, "renewal.json", SearchOption.AllDirectories).Single(),
            """
            {
              "lastAttempt": "2027-01-01T00:00:00+00:00", "nextAttempt": "9990-01-01T00:00:00+00:00", "failures": 2147483647,
              "askAgain": "9990-01-01T00:00:00+00:00", "windowStart": "0001-01-01T00:00:00+00:00", "windowEnd": "9998-01-01T00:00:00+00:00"
            }
            """);
        World.Authority.Refuse = static operation => operation == "new-order" ? new Authority.TestProblem("serverInternal", "no", 500) : null;
        RunningManager second = World.Start();
        await World.RunForAsync(TimeSpan.FromDays(61));
        Assert.InRange(World.Log.Lines.Count(static line => line.Id == 814), 1, 25);
        World.Authority.Refuse = static _ => null;
        await World.RunUntilAsync(() => second.Only.Failures == 0, TimeSpan.FromHours(7));
    }

    [Theory]
    [InlineData("""{ "lastAttempt": "9999-12-31T23:59:59.9999999+00:00", "nextAttempt": "0001-01-01T00:00:00+00:00", "failures": 1 }""")]
    [InlineData("""{ "lastAttempt": "9999-12-31T23:59:59.9999999+00:00", "failures": 0 }""")]
    [InlineData("""{ "lastAttempt": "2026-12-31T00:00:00+00:00", "nextAttempt": "9999-12-31T23:59:59+00:00", "failures": -7 }""")]
    [InlineData("""{ "directory": "nowhere", "account": "nobody", "names": [null], "failedChallenges": [null] }""")]
    [InlineData("""{ "windowStart": "9999-12-31T00:00:00+00:00", "windowEnd": "0001-01-01T00:00:00+00:00" }""")]
    public async Task A_state_of_no_sense_prevents_neither_the_start_nor_the_renewal(string state)
    {
        RunningManager first = await World.ObtainAsync();
        await World.StopAsync(first);
        File.WriteAllText(Directory.GetFiles(World.Store, "renewal.json", SearchOption.AllDirectories).Single(), state);
        RunningManager second = World.Start();
        Assert.Equal(first.Only.File, second.Only.File);
        await World.RunForAsync(TimeSpan.FromDays(61));
        Assert.Equal(2, World.Authority.Orders.Count);
        Assert.True(second.Only.NotAfter > World.Now + TimeSpan.FromDays(80));
        Assert.DoesNotContain(World.Log.Lines, static line => line.Level > LogLevel.Warning);
    }

    [Theory]
    [InlineData("account.json", "url")]
    [InlineData("order.json", "order")]
    [InlineData("order.json", "account")]
    public async Task A_URL_without_a_host_is_not_followed(string name, string property)
    {
        World.Authority.IssuanceTime = TimeSpan.FromMinutes(2);
        RunningManager first = World.Start();
        await World.RunUntilAsync(() => World.Authority.Count("finalize") == 1, Soon);
        await World.StopAsync(first);
        string file = Directory.GetFiles(World.Store, name, SearchOption.AllDirectories).Single();
        JsonNode json = JsonNode.Parse(File.ReadAllText(file))!;
        json[property] = "nowhere";
        File.WriteAllText(file, json.ToJsonString());
        RunningManager second = World.Start();
        await World.RunUntilAsync(() => second.Only.File is not null, TimeSpan.FromMinutes(10));
        Assert.Equal(0, World.Log.Lines.Count(static line => line.Id == 814));
        Assert.Contains(World.Log.Lines, line => line.Id == 803 && line.Text.Contains(file, StringComparison.Ordinal));
        Assert.Single(World.Authority.Accounts);
    }

    [Fact]
    public void A_folder_that_cannot_be_cleaned_leaves_no_lock()
    {
        string path = Path.Combine(_folder.FullName, "store");
        AcmeStore.Open(path, Silent).Dispose();
        string obstacle = Path.Combine(path, "holder.json");
        Directory.CreateDirectory(obstacle);
        Assert.Throws<AcmeConfigurationException>(() => AcmeStore.Open(path, Silent));
        Directory.Delete(obstacle);
        using AcmeStore store = AcmeStore.Open(path, Silent);
        Assert.True(store.IsHolder);
    }

    [Fact]
    public async Task A_folder_that_vanishes_is_made_again()
    {
        RunningManager running = await World.ObtainAsync();
        await World.SleepUntilRenewalAsync(running);
        Directory.Delete(World.Store, recursive: true);
        await World.RunUntilAsync(() => World.Authority.Issued.Count() == 2, TimeSpan.FromHours(2));
        await World.RunForAsync(TimeSpan.FromHours(1));
        StoredCertificate.Parse(File.ReadAllText(running.Only.File!));
    }

    /// <summary>What a program says on both outputs.</summary>
    private static async Task<string> ToolAsync(string program, params string[] arguments)
    {
        var start = new ProcessStartInfo(program, arguments) { RedirectStandardOutput = true, RedirectStandardError = true };
        using Process process = Process.Start(start)!;
        string[] said = await Task.WhenAll(process.StandardOutput.ReadToEndAsync(), process.StandardError.ReadToEndAsync());
        return string.Concat(said);
    }
}
