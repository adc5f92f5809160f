using System.Runtime.Versioning;
using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;
using Microsoft.Extensions.Logging;
using Millrace.Acme.Storage;

namespace Millrace.Acme.Tests.Renewal;

/// <summary>The first certificates.</summary>
[SupportedOSPlatform("linux")]
public sealed class IssueTests : AcmeTest
{
    [Fact]
    public async Task A_certificate_is_obtained_and_stored_with_its_chain_and_key()
    {
        RunningManager running = World.Start();
        Assert.Null(running.Only.File);
        await World.RunUntilAsync(() => running.Only.File is not null, Soon);
        await running.ChangedAsync();

        AcmeCertificate certificate = running.Only;
        Assert.Equal(World.Authority.Issued.Single().Certificate!.NotAfter, certificate.NotAfter!.Value.LocalDateTime);
        Assert.Null(certificate.LastError);
        Assert.InRange(certificate.NextRenewal!.Value, World.Now + TimeSpan.FromDays(57), World.Now + TimeSpan.FromDays(60));
        string pem = File.ReadAllText(certificate.File!);
        Assert.Equal(["CERTIFICATE", "CERTIFICATE", "PRIVATE KEY"], Labels(pem));
        using X509Certificate2 leaf = X509Certificate2.CreateFromPemFile(certificate.File!, certificate.File);
        Assert.True(leaf.HasPrivateKey);
        Assert.Equal(UnixFileMode.UserRead | UnixFileMode.UserWrite, File.GetUnixFileMode(certificate.File!));
        Assert.Equal(Path.Combine(World.Store, "certificates", "example.org-p256-bfabc3743295", "certificate.pem"), certificate.File);
        Assert.Empty(Directory.GetFiles(World.Store, "order.json", SearchOption.AllDirectories));
        Assert.Equal(1, World.Authority.Count("new-order"));
        Assert.False(running.Manager.IsReader);
        Assert.Contains(World.Log.Lines, static line => line.Id == 813 && line.Text.Contains("tls-alpn-01", StringComparison.Ordinal));
        Assert.DoesNotContain(World.Log.Lines, static line => line.Level >= LogLevel.Warning);
    }

    [Fact]
    public async Task Nothing_is_ordered_again_after_a_restart()
    {
        RunningManager first = await World.ObtainAsync();
        await World.StopAsync(first);
        RunningManager second = World.Start();
        await World.RunForAsync(TimeSpan.FromDays(50));
        Assert.Equal(first.Only.NextRenewal, second.Only.NextRenewal);
        Assert.Equal(1, World.Authority.Count("new-order"));
        Assert.Equal(1, World.Authority.Count("new-account"));
    }

    [Fact]
    public async Task Several_names_are_proved_in_one_order()
    {
        string[] names = ["example.org", "www.example.org", "bücher.example", "192.0.2.7", "2001:db8::7"];
        RunningManager running = await World.ObtainAsync(options => options with { Certificates = [names] });
        StoredCertificate stored = StoredCertificate.Parse(File.ReadAllText(running.Only.File!));
        Assert.Equal(
            ["192.0.2.7", "2001:db8::7", "example.org", "www.example.org", "xn--bcher-kva.example"], stored.Names.Order(StringComparer.Ordinal));
        Assert.Equal(1, World.Authority.Count("new-order"));
        Assert.Equal(5, World.Authority.Count("challenge"));
    }

    [Fact]
    public async Task Several_certificates_do_not_depend_on_each_other()
    {
        World.Authority.Offered = ["http-01"];
        World.Authority.Issue = (request, now) => request.CertificateExtensions.Any(static e => e.RawData.AsSpan().IndexOf("bad"u8) >= 0)
            ? throw new Authority.TestProblem("rejectedIdentifier", "not for bad.example", 403)
            : (request, now);
        RunningManager running = World.Start(options => options with { Certificates = [["good.example"], ["bad.example"], ["fine.example"]] });
        await World.RunUntilAsync(() => running.Manager.Certificates.Count(static one => one.File is not null) == 2, Soon);
        await World.RunForAsync(TimeSpan.FromMinutes(2));
        Assert.Null(running.Manager.Certificates[0].LastError);
        Assert.Contains("not for bad.example", running.Manager.Certificates[1].LastError, StringComparison.Ordinal);
        Assert.True(running.Manager.Certificates[1].Failures > 1);
        Assert.Null(running.Manager.Certificates[2].LastError);
        Assert.Equal(1, World.Authority.Count("account-made"));
    }

    [Fact]
    public async Task Names_that_come_and_go_leave_the_other_certificates_alone()
    {
        RunningManager running = World.Start(options => options with { Certificates = [["a.example"], ["b.example"]] });
        await World.RunUntilAsync(() => running.Manager.Certificates.All(static one => one.File is not null), Soon);
        AcmeCertificate kept = running.Manager.Certificates[1];

        running.Manager.Replace([["b.example"], ["c.example", "d.example"]]);
        await World.RunUntilAsync(() => running.Manager.Certificates.All(static one => one.File is not null), Soon);
        Assert.Equal(["b.example", "c.example, d.example"], running.Manager.Certificates.Select(static one => string.Join(", ", one.Names)));
        Assert.Equal(kept, running.Manager.Certificates[0]);
        Assert.Equal(3, World.Authority.Orders.Count);

        AcmeConfigurationException refusal =
            Assert.Throws<AcmeConfigurationException>(() => running.Manager.Replace([["b.example"], ["not a host"]]));
        Assert.Contains("'not a host'", refusal.Message, StringComparison.Ordinal);
        Assert.Equal(2, running.Manager.Certificates.Count);

        // Those that are gone are not renewed; the others are.
        await World.RunForAsync(TimeSpan.FromDays(70));
        Assert.Equal(5, World.Authority.Orders.Count);
        running.Manager.Replace([["a.example"]]);
        await World.RunUntilAsync(() => World.Authority.Orders.Count == 6, Soon);
    }

    [Fact]
    public async Task A_certificate_is_obtained_for_each_kind_of_key_one_after_the_other()
    {
        RunningManager running = World.Start(options => options with { KeyKinds = AcmeKeyKinds.P256 | AcmeKeyKinds.Rsa2048 });
        await World.RunUntilAsync(() => running.Manager.Certificates.All(static one => one.File is not null), Soon);
        string[] keys = [.. running.Manager.Certificates.Select(static one =>
            StoredCertificate.Parse(File.ReadAllText(one.File!)).Leaf.PublicKey.Oid.FriendlyName!)];
        Assert.Equal(["ECC", "RSA"], keys);
        Assert.Equal(2, World.Authority.Orders.Count);
        Assert.DoesNotContain(World.Log.Lines, static line => line.Level >= LogLevel.Warning);
    }

    [Fact]
    public async Task The_preferred_chain_is_chosen()
    {
        RunningManager running = await World.ObtainAsync(options => options with { PreferredChain = "Old Root" });
        var chain = new X509Certificate2Collection();
        chain.ImportFromPem(File.ReadAllText(running.Only.File!));
        Assert.Equal("CN=Old Root", chain[^1].Issuer);
        Assert.DoesNotContain(World.Log.Lines, static line => line.Level >= LogLevel.Warning);
    }

    [Fact]
    public async Task A_preferred_chain_that_is_not_offered_is_named()
    {
        RunningManager running = await World.ObtainAsync(options => options with { PreferredChain = "No Root" });
        Assert.Contains(World.Log.Lines, static line => line.Id == 815 && line.Text.Contains("'Test Root', 'Old Root'", StringComparison.Ordinal));
    }

    [Fact]
    public async Task A_profile_is_asked_for()
    {
        World.Authority.Profiles = ["classic", "shortlived"];
        World.Authority.Lifetime = TimeSpan.FromDays(6);
        RunningManager running = await World.ObtainAsync(options => options with { Profile = "shortlived" });
        Assert.Equal("shortlived", World.Authority.Orders.Single().Profile);
    }

    [Fact]
    public async Task Bad_nonces_do_not_matter()
    {
        World.Authority.BadNonceEvery = 3;
        RunningManager running = await World.ObtainAsync();
        Assert.Equal(0, running.Only.Failures);
    }

    [Theory]
    [InlineData("key", "its private key does not belong to its certificate")]
    [InlineData("names", "is not for example.org")]
    [InlineData("past", "expired on 2026-12-31 00:00Z")]
    [InlineData("future", "is not valid before 2027-01-02 00:00Z")]
    public async Task What_a_browser_would_refuse_is_not_installed(string fault, string reason)
    {
        RunningManager running = World.Start();
        World.Authority.Issue = (request, now) =>
        {
            using var other = ECDsa.Create(ECCurve.NamedCurves.nistP256);
            var wrong = new CertificateRequest(request.SubjectName, fault == "key" ? new PublicKey(other) : request.PublicKey, HashAlgorithmName.SHA256);
            var names = new SubjectAlternativeNameBuilder();
            names.AddDnsName(fault == "names" ? "example.com" : "example.org");
            wrong.CertificateExtensions.Add(names.Build());
            return (wrong, fault == "past" ? now - TimeSpan.FromDays(91) : fault == "future" ? now + TimeSpan.FromDays(1) : now);
        };
        await World.RunUntilAsync(() => running.Only.Failures == 1, Soon);
        Assert.Contains(reason, running.Only.LastError, StringComparison.Ordinal);
        Assert.Null(running.Only.File);

        World.Authority.Issue = static (request, now) => (request, now);
        await World.RunUntilAsync(() => running.Only.File is not null, TimeSpan.FromMinutes(2));
        Assert.Equal(2, World.Authority.Count("new-order"));
    }

    [Fact]
    public async Task A_log_and_a_callback_that_throw_cost_no_certificate()
    {
        World.Log.Throws = true;
        World.Authority.Refuse = operation => operation == "new-order" && World.Authority.Count("new-account") == 1
            && World.Now < AcmeWorld.Begin + TimeSpan.FromMinutes(1) ? new Authority.TestProblem("serverInternal", "no", 500) : null;
        RunningManager running = World.Start();
        running.ThrowsWhenChanged = true;
        await World.RunUntilAsync(() => running.Only.File is not null, TimeSpan.FromMinutes(5));
        Assert.Single(World.Authority.Orders);
        Assert.Equal(0, running.Only.Failures);
    }

    private static IEnumerable<string> Labels(string pem) =>
        from line in pem.Split('\n') where line.StartsWith("-----BEGIN ", StringComparison.Ordinal) select line[11..^5];
}
