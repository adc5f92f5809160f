using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;
using Microsoft.Extensions.Logging.Abstractions;
using Microsoft.Extensions.Time.Testing;
using Millrace.Acme;
using Millrace.Acme.Challenges;
using Millrace.Acme.Protocol;
using Millrace.Acme.Storage;
using Millrace.Acme.Tests.Authority;
using Millrace.AspNetCore.Tests.Kit;

namespace Millrace.AspNetCore.Tests.Https.Kit;

/// <summary>
/// A folder of certificates that somebody else obtains, as with several replicas: its lock is held, so applications under test read it and
/// ask no authority. They look for changes every ten seconds of the clock.
/// </summary>
internal sealed class AcmeFolder : IDisposable
{
    private static readonly TestIssuer Issuer = new();
    private static readonly TimeSpan ReadInterval = TimeSpan.FromSeconds(10);

    private readonly DirectoryInfo _folder = Directory.CreateTempSubdirectory("millrace-acme-");
    private readonly AcmeStore _store;

    public AcmeFolder() => _store = AcmeStore.Open(Path, new AcmeLog(NullLogger.Instance));

    public static X509Certificate2 Root => Issuer.Root;

    public string Path => System.IO.Path.Combine(_folder.FullName, "acme");

    public FakeTimeProvider Clock { get; } = new(DateTimeOffset.UtcNow);

    public Action<MillraceAcmeOptions> Options(params string[] domains) => acme =>
    {
        acme.Directory = Path;
        Array.ForEach(domains, acme.Domains.Add);
    };

    /// <summary>Installs a certificate with its chain. Returns its thumbprint.</summary>
    public string Issue(params string[] names)
    {
        using var key = ECDsa.Create(ECCurve.NamedCurves.nistP256);
        return Issue(new CertificateRequest($"CN={names[0]}", key, HashAlgorithmName.SHA256), key, FolderOf(AcmeKeyKinds.P256, names), names);
    }

    /// <summary>The same with a key of RSA.</summary>
    public string IssueRsa(string name)
    {
        using var key = RSA.Create(2048);
        var request = new CertificateRequest($"CN={name}", key, HashAlgorithmName.SHA256, RSASignaturePadding.Pkcs1);
        return Issue(request, key, FolderOf(AcmeKeyKinds.Rsa2048, name), name);
    }

    /// <summary>Opens a challenge of HTTP-01.</summary>
    public void OpenChallenge(string token, string keyAuthorization) => _store.Challenges().AddHttp(token, keyAuthorization);

    /// <summary>Opens a challenge of TLS-ALPN-01. Returns the thumbprint of its certificate.</summary>
    public string OpenTlsChallenge(string host)
    {
        using var key = ECDsa.Create(ECCurve.NamedCurves.nistP256);
        using X509Certificate2 certificate =
            ChallengeAnswers.TlsAlpnCertificate(AcmeIdentifier.Of(host), new KeyAuthorization("token", key), DateTimeOffset.UtcNow);
        _store.Challenges().AddTlsAlpn(host, certificate);
        return certificate.Thumbprint;
    }

    /// <summary>Notes that the last attempt failed.</summary>
    public void NoteFailure(string name, string error) => FolderOf(AcmeKeyKinds.P256, name).WriteState(new RenewalState
    {
        Names = [name],
        LastAttempt = Clock.GetUtcNow(),
        NextAttempt = Clock.GetUtcNow().AddHours(1),
        Failures = 1,
        LastError = error,
    });

    /// <summary>Lets the clock go on until the folder was read and the condition holds.</summary>
    public async Task ReadUntilAsync(Func<Task<bool>> condition)
    {
        using var patience = new CancellationTokenSource(Waiting.Patience);
        do
        {
            patience.Token.ThrowIfCancellationRequested();
            Clock.Advance(ReadInterval);
        }
        while (!await condition());
    }

    public void Dispose()
    {
        _store.Dispose();
        _folder.Delete(recursive: true);
    }

    private static string Issue(
        CertificateRequest request, AsymmetricAlgorithm key, Millrace.Acme.Storage.CertificateFolder folder, params string[] names)
    {
        var alternatives = new SubjectAlternativeNameBuilder();
        Array.ForEach(names, alternatives.AddDnsName);
        request.CertificateExtensions.Add(alternatives.Build());
        using X509Certificate2 leaf = Issuer.Issue(request, DateTimeOffset.UtcNow.AddDays(-1), DateTimeOffset.UtcNow.AddDays(30));
        string[] parts =
            [leaf.ExportCertificatePem(), Issuer.Intermediate(isAlternate: false).ExportCertificatePem(), key.ExportPkcs8PrivateKeyPem()];
        folder.Install(StoredCertificate.Parse(string.Join('\n', parts)));
        return leaf.Thumbprint;
    }

    private Millrace.Acme.Storage.CertificateFolder FolderOf(AcmeKeyKinds kind, params string[] names) =>
        _store.Certificate(Millrace.Acme.Storage.CertificateFolder.NameOf(names, kind));
}
