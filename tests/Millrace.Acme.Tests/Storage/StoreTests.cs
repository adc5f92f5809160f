using System.Runtime.Versioning;
using System.Security.Cryptography;
using Microsoft.Extensions.Logging;
using Microsoft.Extensions.Logging.Abstractions;
using Millrace.Acme.Storage;
using Millrace.Acme.Tests.Renewal;

namespace Millrace.Acme.Tests.Storage;

/// <summary>The folder: who may read it, what is not readable in it, and what is left of a crash.</summary>
[SupportedOSPlatform("linux")]
public sealed class StoreTests : IDisposable
{
    private const UnixFileMode Private = UnixFileMode.UserRead | UnixFileMode.UserWrite;
    private static readonly TimeSpan Soon = TimeSpan.FromMinutes(1);
    private static readonly AcmeLog Silent = new(NullLogger.Instance);
    private readonly DirectoryInfo _folder = Directory.CreateTempSubdirectory("millrace-store-");

    public void Dispose() => _folder.Delete(recursive: true);

    [Fact]
    public void A_folder_is_created_for_its_owner_only()
    {
        string path = Path.Combine(_folder.FullName, "a", "b");
        using AcmeStore store = AcmeStore.Open(path, Silent);
        Assert.Equal(Private | UnixFileMode.UserExecute, File.GetUnixFileMode(path));
        Assert.True(store.IsHolder);
    }

    [Theory]
    [InlineData(UnixFileMode.OtherRead)]
    [InlineData(UnixFileMode.OtherExecute)]
    [InlineData(UnixFileMode.GroupRead)]
    [InlineData(UnixFileMode.GroupWrite)]
    public void A_folder_that_others_can_read_is_refused(UnixFileMode others)
    {
        File.SetUnixFileMode(_folder.FullName, Private | UnixFileMode.UserExecute | others);
        string message = Assert.Throws<AcmeConfigurationException>(() => AcmeStore.Open(_folder.FullName, Silent)).Message;
        Assert.Contains($"chmod 700 {_folder.FullName}", message, StringComparison.Ordinal);
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
        await using AcmeWorld world = await AcmeWorld.CreateAsync();
        RunningManager first = world.Start();
        await world.RunUntilAsync(() => first.Only.File is not null, Soon);
        await world.StopAsync(first);
        string file = Directory.GetFiles(world.Store, name, SearchOption.AllDirectories).Single();
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

        RunningManager second = world.Start();
        await world.RunForAsync(TimeSpan.FromDays(62));
        Assert.Contains(world.Log.Lines, line => line.Level == LogLevel.Warning && line.Text.Contains(file, StringComparison.Ordinal));
        Assert.DoesNotContain(world.Log.Lines, static line => line.Level > LogLevel.Warning);
        Assert.Equal(0, second.Only.Failures);
        StoredCertificate stored = StoredCertificate.Parse(File.ReadAllText(second.Only.File!));
        Assert.True(stored.NotAfter > world.Now + TimeSpan.FromDays(20));

        // A certificate that is lost is ordered again; all else costs no order, and no key of an account is deleted.
        Assert.InRange(world.Authority.Orders.Count, 2, name == "certificate.pem" ? 3 : 2);
        Assert.Equal(name == "account.key" ? 2 : 1, Directory.GetFiles(world.Store, "account*.key", SearchOption.AllDirectories).Length);
        Assert.Equal(name == "account.key" ? 2 : 1, world.Authority.Accounts.Count);
    }

    [Theory]
    [InlineData("garbage", 2)]
    [InlineData("names", 2)]
    [InlineData("key", 2)]
    [InlineData("account", 2)]
    [InlineData("none", 1)]
    public async Task An_order_that_cannot_be_continued_is_made_again(string fault, int orders)
    {
        await using AcmeWorld world = await AcmeWorld.CreateAsync();
        world.Authority.IssuanceTime = TimeSpan.FromMinutes(2);
        RunningManager first = world.Start();
        await world.RunUntilAsync(() => world.Authority.Count("finalize") == 1, Soon);
        await world.StopAsync(first);
        string file = Directory.GetFiles(world.Store, "order.json", SearchOption.AllDirectories).Single();
        string good = File.ReadAllText(file);
        File.WriteAllText(file, fault switch
        {
            "garbage" => good[..20],
            "names" => good.Replace("\"example.org\"", "\"example.com\"", StringComparison.Ordinal),
            "key" => good.Replace("BEGIN PRIVATE", "BEGIN PUBLIC", StringComparison.Ordinal),
            "account" => good.Replace("/account/0", "/account/7", StringComparison.Ordinal),
            _ => good,
        });
        RunningManager second = world.Start();
        await world.RunUntilAsync(() => second.Only.File is not null, TimeSpan.FromMinutes(5));
        Assert.Equal(orders, world.Authority.Orders.Count);
        Assert.Equal(0, second.Only.Failures);
    }

    [Theory]
    [InlineData("invalid")]
    [InlineData("expired")]
    public async Task An_order_that_ended_is_made_again(string end)
    {
        await using AcmeWorld world = await AcmeWorld.CreateAsync();
        world.Authority.IsStuck = true;
        world.Authority.OrderLifetime = TimeSpan.FromDays(1);
        RunningManager first = world.Start();
        await world.RunUntilAsync(() => world.Authority.Count("challenge") == 1, Soon);
        await world.StopAsync(first);
        world.Authority.IsStuck = false;
        if (end == "invalid")
        {
            world.Authority.Orders[0].IsInvalid = true;
        }
        else
        {
            world.Clock.Advance(TimeSpan.FromDays(2));
        }

        RunningManager second = world.Start();
        await world.RunUntilAsync(() => second.Only.File is not null, Soon);
        Assert.Equal(2, world.Authority.Orders.Count);
        Assert.DoesNotContain("pending", world.Authority.Authorizations.Select(static one => one.Status));
    }

    [Theory]
    [InlineData("before writing account.key", 0)]
    [InlineData("before writing order.json", 0)]
    [InlineData("before writing certificate.pem", 1)]
    [InlineData("before writing renewal.json", 1)]
    public async Task A_full_disk_costs_no_order(string step, int orders)
    {
        await using AcmeWorld world = await AcmeWorld.CreateAsync();
        bool isFull = true;
        RunningManager running = world.Start(step: current =>
        {
            if (isFull && current == step)
            {
                throw new IOException("No space left on device");
            }
        });
        await world.RunForAsync(TimeSpan.FromHours(1));
        Assert.Equal(orders, world.Authority.Orders.Count);
        isFull = false;
        await world.RunForAsync(TimeSpan.FromHours(2));
        Assert.Single(world.Authority.Orders);
        Assert.Single(world.Authority.Accounts);
        Assert.Equal(0, running.Only.Failures);
        StoredCertificate.Parse(File.ReadAllText(running.Only.File!));
    }

    [Fact]
    public async Task A_state_that_cannot_be_true_neither_stops_renewal_nor_makes_a_storm()
    {
        await using AcmeWorld world = await AcmeWorld.CreateAsync();
        RunningManager first = world.Start();
        await world.RunUntilAsync(() => first.Only.File is not null, Soon);
        await world.StopAsync(first);
        File.WriteAllText(
            Directory.GetFiles(world.Store, "renewal.json", SearchOption.AllDirectories).Single(),
            """
            {
              "lastAttempt": "2027-01-01T00:00:00+00:00", "nextAttempt": "9990-01-01T00:00:00+00:00", "failures": 2147483647,
              "askAgain": "9990-01-01T00:00:00+00:00", "windowStart": "0001-01-01T00:00:00+00:00", "windowEnd": "9998-01-01T00:00:00+00:00"
            }
            """);
        world.Authority.Refuse = static operation => operation == "new-order" ? new Authority.TestProblem("serverInternal", "no", 500) : null;
        RunningManager second = world.Start();
        await world.RunForAsync(TimeSpan.FromDays(61));
        Assert.InRange(world.Log.Lines.Count(static line => line.Id == 814), 1, 25);
        world.Authority.Refuse = static _ => null;
        await world.RunUntilAsync(() => second.Only.Failures == 0, TimeSpan.FromHours(7));
    }

    [Fact]
    public async Task A_folder_that_vanishes_is_made_again()
    {
        await using AcmeWorld world = await AcmeWorld.CreateAsync();
        RunningManager running = world.Start();
        await world.RunUntilAsync(() => running.Only.File is not null, Soon);
        await world.SleepUntilRenewalAsync(running);
        Directory.Delete(world.Store, recursive: true);
        await world.RunUntilAsync(() => world.Authority.Issued.Count() == 2, TimeSpan.FromHours(2));
        await world.RunForAsync(TimeSpan.FromHours(1));
        StoredCertificate.Parse(File.ReadAllText(running.Only.File!));
    }
}
