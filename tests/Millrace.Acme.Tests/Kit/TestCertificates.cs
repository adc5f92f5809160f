using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;

namespace Millrace.Acme.Tests.Kit;

/// <summary>Certificates that need no authority.</summary>
internal static class TestCertificates
{
    /// <summary>RFC 9773, appendix A. Its serial number begins with a zero byte.</summary>
    public const string Rfc9773 =
        """
        -----BEGIN CERTIFICATE-----
        MIIBQzCB66ADAgECAgUAh2VDITAKBggqhkjOPQQDAjAVMRMwEQYDVQQDEwpFeGFt
        cGxlIENBMCIYDzAwMDEwMTAxMDAwMDAwWhgPMDAwMTAxMDEwMDAwMDBaMBYxFDAS
        BgNVBAMTC2V4YW1wbGUuY29tMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEeBZu
        7cbpAYNXZLbbh8rNIzuOoqOOtmxA1v7cRm//AwyMwWxyHz4zfwmBhcSrf47NUAFf
        qzLQ2PPQxdTXREYEnKMjMCEwHwYDVR0jBBgwFoAUaYhba4dGQEHhs3uEe6CuLN4B
        yNQwCgYIKoZIzj0EAwIDRwAwRAIge09+S5TZAlw5tgtiVvuERV6cT4mfutXIlwTb
        +FYN/8oCIClDsqBklhB9KAelFiYt9+6FDj3z4KGVelYM5MdsO3pK
        -----END CERTIFICATE-----
        """;

    /// <summary>How RFC 9773, section 4.1 names it.</summary>
    public const string Rfc9773Id = "aYhba4dGQEHhs3uEe6CuLN4ByNQ.AIdlQyE";

    /// <summary>One that has no extensions.</summary>
    public static X509Certificate2 SelfSigned(string host = "example.org")
    {
        using ECDsa key = ECDsa.Create(ECCurve.NamedCurves.nistP256);
        var request = new CertificateRequest($"CN={host}", key, HashAlgorithmName.SHA256);
        return request.CreateSelfSigned(DateTimeOffset.UtcNow.AddDays(-1), DateTimeOffset.UtcNow.AddDays(1));
    }
}
