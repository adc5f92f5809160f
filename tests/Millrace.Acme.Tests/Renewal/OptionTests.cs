using Microsoft.Extensions.Logging.Abstractions;
using Millrace.Acme.Renewal;
using Millrace.Acme.Storage;

namespace Millrace.Acme.Tests.Renewal;

/// <summary>Options that cannot work are refused before anybody is asked.</summary>
public sealed class OptionTests
{
    private static readonly AcmeOptions Good = new() { Certificates = [["example.org"]], Directory = "/nonexistent/acme" };

    public static TheoryData<string, AcmeOptions, AcmeChallengeTypes> Faults => new()
    {
        { "no name", Good with { Certificates = [] }, AcmeChallengeTypes.Http01 },
        { "at least one name", Good with { Certificates = [[]] }, AcmeChallengeTypes.Http01 },
        { "'exa mple'", Good with { Certificates = [["exa mple"]] }, AcmeChallengeTypes.Http01 },
        { "'*.*.example'", Good with { Certificates = [["*.*.example"]] }, AcmeChallengeTypes.Http01 },
        { "'a.*.example'", Good with { Certificates = [["a.*.example"]] }, AcmeChallengeTypes.Http01 },
        { "'-a.example'", Good with { Certificates = [["-a.example"]] }, AcmeChallengeTypes.Http01 },
        { "'1.2.3'", Good with { Certificates = [["1.2.3"]] }, AcmeChallengeTypes.Http01 },
        { "'https://example.org'", Good with { Certificates = [["https://example.org"]] }, AcmeChallengeTypes.Http01 },
        { "by DNS only", Good with { Certificates = [["*.example.org"]] }, AcmeChallengeTypes.Http01 },
        { "listen on port 80", Good, AcmeChallengeTypes.None },
        { "listens on neither", Good with { Certificates = [["192.0.2.1"]], DnsHook = "true" }, AcmeChallengeTypes.None },
        { "does not exist", Good with { DnsHook = "/no/such/hook" }, AcmeChallengeTypes.Http01 },
        { "Base64Url", Good with { ExternalAccount = new ExternalAccount("id", "no key!") }, AcmeChallengeTypes.Http01 },
        { "kind of key", Good with { KeyKinds = AcmeKeyKinds.None }, AcmeChallengeTypes.Http01 },
        { "configured twice", Good with { Certificates = [["a.example", "b.example"], ["B.example", "a.example"]] }, AcmeChallengeTypes.Http01 },
        { "https", Good with { DirectoryUrl = new Uri("http://ca.example/directory") }, AcmeChallengeTypes.Http01 },
        { "/no/such/roots", Good with { RootsFile = "/no/such/roots" }, AcmeChallengeTypes.Http01 },
    };

    [Theory]
    [MemberData(nameof(Faults))]
    public void What_cannot_work_is_named(string part, AcmeOptions options, AcmeChallengeTypes answered)
    {
        AcmeConfigurationException e = Assert.Throws<AcmeConfigurationException>(
            () => new AcmeManager(options, answered, static () => { }, NullLoggerFactory.Instance));
        Assert.Contains(part, e.Message, StringComparison.Ordinal);
    }

    [Fact]
    public void Names_are_normalized() => Assert.Equal(
        ["example.org", "*.example.org", "xn--bcher-kva.example", "192.0.2.1", "2001:db8::1"],
        CertificateNames.Normalize(["Example.ORG.", "*.EXAMPLE.org", "Bücher.example", "192.0.2.1", "[2001:DB8:0::1]", "example.org"]));

    [Fact]
    public void Folders_are_readable_and_differ()
    {
        (string[] Names, AcmeKeyKinds Kind)[] certificates =
        [
            (["example.org", "www.example.org"], AcmeKeyKinds.P256),
            (["example.org", "www.example.org"], AcmeKeyKinds.Rsa2048),
            (["*.example.org"], AcmeKeyKinds.P256),
            (["2001:db8::1"], AcmeKeyKinds.P256),
            (["example.org"], AcmeKeyKinds.P256),
            ([$"{new string('a', 60)}.{new string('b', 60)}.{new string('c', 60)}.{new string('d', 60)}"], AcmeKeyKinds.P256),
        ];
        string[] folders = [.. certificates.Select(static one => CertificateFolder.NameOf(one.Names, one.Kind))];
        string[] begins = ["example.org-p256-", "example.org-rsa2048-", "_.example.org-p256-", "2001_db8__1-p256-", "example.org-p256-"];
        Assert.All(begins.Zip(folders), static pair => Assert.StartsWith(pair.First, pair.Second, StringComparison.Ordinal));
        Assert.Equal(folders.Length, folders.Distinct().Count());
        Assert.All(folders, static folder => Assert.InRange(folder.Length, 1, 230));
        Assert.Equal(folders[0], CertificateFolder.NameOf(["www.example.org", "example.org"], AcmeKeyKinds.P256));
    }
}
