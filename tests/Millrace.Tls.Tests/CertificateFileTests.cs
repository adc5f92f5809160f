using System.Net.Security;
using System.Security.Cryptography;
using System.Text;
using System.Text.RegularExpressions;
using Millrace.Engine;
using Millrace.Engine.Tests.Kit;
using Millrace.Tls.Tests.Kit;

namespace Millrace.Tls.Tests;

/// <summary>
/// Files of certificates and keys in the forms that people have them in: accepted where they mean one thing, or refused in words.
/// </summary>
public class CertificateFileTests : TlsTest
{
    /// <summary>What OpenSSL says of such files by itself.</summary>
    private static readonly Regex RawText = new(
        "no start line|bad end line|bad base64|asn1|encoding routines|unsupported|DECODER|BIO|no reason given|bad decrypt|PEM lib",
        RegexOptions.IgnoreCase);

    [Theory]
    [InlineData("utf-8 mark")]
    [InlineData("utf-16")]
    [InlineData("utf-16 big-endian")]
    [InlineData("carriage returns")]
    [InlineData("text around")]
    [InlineData("no final line feed")]
    [InlineData("der")]
    public async Task What_means_one_thing_serves(string form)
    {
        CertificateFiles files = Pem.Make("server", "a.example");
        foreach (string file in (string[])[files.Certificate, files.Key])
        {
            string text = await File.ReadAllTextAsync(file, TestContext.Current.CancellationToken);
            byte[] bytes = form switch
            {
                "utf-8 mark" => [0xEF, 0xBB, 0xBF, .. Encoding.UTF8.GetBytes(text)],
                "utf-16" => [.. Encoding.Unicode.Preamble, .. Encoding.Unicode.GetBytes(text)],
                "utf-16 big-endian" => [.. Encoding.BigEndianUnicode.Preamble, .. Encoding.BigEndianUnicode.GetBytes(text)],
                "carriage returns" => Encoding.UTF8.GetBytes(text.Replace("\n", "\r\n", StringComparison.Ordinal)),
                "no final line feed" => Encoding.UTF8.GetBytes(text.TrimEnd()),
                "text around" => Encoding.UTF8.GetBytes($"Bag Attributes\n    friendlyName: x\n{text}\n# the end\n"),
                _ => Convert.FromBase64String(string.Concat(text.Split('\n').Where(static line => !line.StartsWith('-')))),
            };
            await File.WriteAllBytesAsync(file, bytes, TestContext.Current.CancellationToken);
        }

        Listener listener = await ServeTlsAsync(Handlers.EchoAsync, TlsOptions(files));
        SslStream stream = await ConnectTlsAsync(listener);
        Assert.Equal("CN=a.example", stream.RemoteCertificate!.Subject);
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task With_an_authority_before_it_the_certificate_of_the_key_is_shown_first(bool hasMark)
    {
        (string authority, CertificateFiles leaf) = Pem.MakeSigned("chain", "a.example");
        string both = await File.ReadAllTextAsync(authority, TestContext.Current.CancellationToken) + "\n"
            + await File.ReadAllTextAsync(leaf.Certificate, TestContext.Current.CancellationToken);
        await File.WriteAllTextAsync(leaf.Certificate, both, new UTF8Encoding(hasMark), TestContext.Current.CancellationToken);
        Listener listener = await ServeTlsAsync(WebHandler.ServeAsync, TlsOptions(leaf));
        string seen = await Tools.AskAsync(listener, "GET /1 HTTP/1.1\r\nConnection: close\r\n\r\n", "-showcerts");
        Assert.Matches(@"(?s) 0 s:CN = a\.example.* 1 s:CN = chain authority", seen);
        Assert.Contains(leaf.Certificate, Assert.Single(Log.Entries, static entry => entry.Id == 609).Text, StringComparison.Ordinal);
    }

    [Fact]
    public async Task In_its_usual_order_a_chain_is_served_as_it_is()
    {
        (string authority, CertificateFiles leaf) = Pem.MakeSigned("chain", "a.example");
        string issuer = await File.ReadAllTextAsync(authority, TestContext.Current.CancellationToken);
        await File.AppendAllTextAsync(leaf.Certificate, "\n" + issuer, TestContext.Current.CancellationToken);
        Listener listener = await ServeTlsAsync(WebHandler.ServeAsync, TlsOptions(leaf));
        string seen = await Tools.AskAsync(listener, "GET /1 HTTP/1.1\r\nConnection: close\r\n\r\n", "-showcerts");
        Assert.Matches(@"(?s) 0 s:CN = a\.example.* 1 s:CN = chain authority", seen);
        Assert.Equal(0, Log.Count(609));
    }

    [Fact]
    public async Task One_file_with_the_key_first_serves()
    {
        CertificateFiles files = Pem.Make("server", "a.example");
        string both = await File.ReadAllTextAsync(files.Key, TestContext.Current.CancellationToken) + "\n"
            + await File.ReadAllTextAsync(files.Certificate, TestContext.Current.CancellationToken);
        await File.WriteAllTextAsync(files.Certificate, both, TestContext.Current.CancellationToken);
        Listener listener = await ServeTlsAsync(Handlers.EchoAsync, TlsOptions(files with { Key = files.Certificate }));
        SslStream stream = await ConnectTlsAsync(listener);
        Assert.Equal("CN=a.example", stream.RemoteCertificate!.Subject);
        Assert.Equal(0, Log.Count(609));
    }

    [Theory]
    [InlineData("a.example", false)]
    [InlineData("b.example", true)]
    public async Task Of_two_leafs_in_one_file_that_of_the_key_is_sent_alone_and_the_other_is_named(string own, bool isSecond)
    {
        CertificateFiles[] both = [Pem.Make("a", "a.example"), Pem.Make("b", "b.example")];
        foreach (CertificateFiles other in both)
        {
            await File.AppendAllTextAsync(
                Pem.PathOf("both.crt"), await File.ReadAllTextAsync(other.Certificate, TestContext.Current.CancellationToken) + "\n");
        }

        CertificateFiles files = both[isSecond ? 1 : 0] with { Certificate = Pem.PathOf("both.crt") };
        Listener listener = await ServeTlsAsync(WebHandler.ServeAsync, TlsOptions(files));
        string seen = await Tools.AskAsync(listener, "GET /1 HTTP/1.1\r\nConnection: close\r\n\r\n", "-showcerts");
        Assert.Contains($" 0 s:CN = {own}", seen, StringComparison.Ordinal);
        Assert.DoesNotContain(" 1 s:", seen, StringComparison.Ordinal);
        string named = Assert.Single(Log.Entries, static entry => entry.Id == 610).Text;
        Assert.Contains(isSecond ? "CN=a.example" : "CN=b.example", named, StringComparison.Ordinal);
        Assert.Equal(0, Log.Count(609));
    }

    [Fact]
    public async Task A_chain_in_any_order_with_its_certificate_twice_is_sent_in_order_and_once()
    {
        (string root, string authority, CertificateFiles leaf) = Pem.MakeChain("chain", "a.example");
        string[] parts =
        [
            .. await Task.WhenAll(new[] { leaf.Certificate, root, authority, leaf.Certificate }
                .Select(static path => File.ReadAllTextAsync(path, TestContext.Current.CancellationToken))),
        ];
        await File.WriteAllTextAsync(leaf.Certificate, string.Join("\n", parts), TestContext.Current.CancellationToken);
        Listener listener = await ServeTlsAsync(WebHandler.ServeAsync, TlsOptions(leaf));
        string seen = await Tools.AskAsync(listener, "GET /1 HTTP/1.1\r\nConnection: close\r\n\r\n", "-showcerts");
        Assert.Matches(@"(?s) 0 s:CN = a\.example.* 1 s:CN = chain authority.* 2 s:CN = chain root", seen);
        Assert.DoesNotContain(" 3 s:", seen, StringComparison.Ordinal);
        Assert.Equal((1, 0), (Log.Count(609), Log.Count(610)));
    }

    [Theory]
    [InlineData("certificate is empty", "certificate.*is empty")]
    [InlineData("key is empty", "key.*is empty")]
    [InlineData("certificate is PKCS#12", "PKCS#12.*openssl pkcs12 -in ")]
    [InlineData("key is PKCS#12", "PKCS#12.*openssl pkcs12 -in ")]
    [InlineData("certificate is PKCS#7", "PKCS#7.*openssl pkcs7 -in ")]
    [InlineData("certificate is PKCS#7 in DER", "PKCS#7.*openssl pkcs7 -inform DER -in ")]
    [InlineData("certificate is a request", "a request.*authority")]
    [InlineData("certificate is a key", "holds no certificate.*private key")]
    [InlineData("key is a certificate", "holds a certificate but no private key")]
    [InlineData("key is public", "public key.*private one")]
    [InlineData("key is OpenSSH's", "OpenSSH.*ssh-keygen -p -m PEM")]
    [InlineData("key is PuTTY's", "holds no private key")]
    [InlineData("certificate is cut off", "begins in line 1 has no end.*'-----END CERTIFICATE-----'")]
    [InlineData("key is cut off", "begins in line 1 has no end.*'-----END PRIVATE KEY-----'")]
    [InlineData("second certificate is cut off", "begins in line [0-9]+ has no end")]
    [InlineData("certificate is not Base64", "begins in line 1 is not Base64")]
    [InlineData("certificate is noise", "begins in line 1 is not a certificate")]
    [InlineData("key is noise", "begins in line 1 is not a private key")]
    [InlineData("key is noise in DER", "neither text nor")]
    [InlineData("certificate is UTF-16 without its mark", "holds no certificate in PEM")]
    [InlineData("certificate is noise in DER", "neither text nor")]
    [InlineData("key is encrypted", "is encrypted.*password.*openssl pkey")]
    [InlineData("key is encrypted as of old", "is encrypted.*password.*openssl pkey")]
    [InlineData("key is encrypted in DER", "is encrypted.*openssl pkey -inform DER")]
    [InlineData("key is encrypted by DES", "encrypted.*DES.*legacy")]
    [InlineData("certificate is of a short key", "too short.*2048")]
    [Trait("Duration", "Full")]
    public async Task What_will_not_do_is_refused_with_file_cause_and_remedy(string what, string expected)
    {
        Tools.Require("openssl");
        CertificateFiles files = Pem.MakeRsa("server", "a.example");
        string broken = what.StartsWith("key", StringComparison.Ordinal) ? files.Key : files.Certificate;
        files = await BreakAsync(what, files);
        TlsException refusal = Assert.Throws<TlsException>(() => Terminate(TlsOptions(files)));
        Assert.Matches($"(?s){expected}", refusal.Message);
        Assert.Contains($"'{broken}'", refusal.Message, StringComparison.Ordinal);
        Assert.DoesNotMatch(RawText, refusal.Message);
    }

    [Fact]
    public async Task Every_authority_of_a_file_with_a_mark_is_known()
    {
        (string first, CertificateFiles leaf) = Pem.MakeSigned("first", "client");
        (string second, _) = Pem.MakeSigned("second", "client");
        string both = await File.ReadAllTextAsync(first, TestContext.Current.CancellationToken) + "\n"
            + await File.ReadAllTextAsync(second, TestContext.Current.CancellationToken);
        await File.WriteAllTextAsync(first, both, new UTF8Encoding(true), TestContext.Current.CancellationToken);
        Listener listener = await ServeTlsAsync(WebHandler.ServeAsync, TlsOptions() with
        {
            ClientCertificates = ClientCertificates.Required,
            ClientAuthoritiesFile = first,
        });
        string seen = await Tools.RunAsync(
            "curl", "", "-sk", "--cert", leaf.Certificate, "--key", leaf.Key, $"https://127.0.0.1:{PortOf(listener)}/session");
        Assert.Contains("client=", seen, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("cut", "has no end")]
    [InlineData("revocation list", "revocation list.*not supported")]
    public async Task A_file_of_authorities_that_would_be_read_in_part_is_refused(string what, string expected)
    {
        (string authorities, _) = Pem.MakeSigned("first", "client");
        string more = what == "cut" ? "-----BEGIN CERTIFICATE-----\nAAAA\n" : "-----BEGIN X509 CRL-----\nAAAA\n-----END X509 CRL-----\n";
        await File.AppendAllTextAsync(authorities, "\n" + more, TestContext.Current.CancellationToken);
        TlsException refusal = Assert.Throws<TlsException>(() => Terminate(TlsOptions() with
        {
            ClientCertificates = ClientCertificates.Required,
            ClientAuthoritiesFile = authorities,
        }));
        Assert.Matches(expected, refusal.Message);
        Assert.Contains(authorities, refusal.Message, StringComparison.Ordinal);
    }

    private async Task<CertificateFiles> BreakAsync(string what, CertificateFiles files)
    {
        (string certificate, string key) = (files.Certificate, files.Key);
        string certificateText = await File.ReadAllTextAsync(certificate, TestContext.Current.CancellationToken);
        string keyText = await File.ReadAllTextAsync(key, TestContext.Current.CancellationToken);
        switch (what)
        {
            case "certificate is empty":
                await File.WriteAllTextAsync(certificate, "");
                break;
            case "key is empty":
                await File.WriteAllTextAsync(key, "");
                break;
            case "certificate is PKCS#12" or "key is PKCS#12":
                string packed = what.StartsWith("key", StringComparison.Ordinal) ? key : certificate;
                await OpenSslAsync("pkcs12", "-export", "-in", certificate, "-inkey", key, "-out", packed + ".p12", "-passout", "pass:");
                File.Move(packed + ".p12", packed, overwrite: true);
                break;
            case "certificate is PKCS#7":
                await OpenSslAsync("crl2pkcs7", "-nocrl", "-certfile", certificate, "-out", certificate + ".p7");
                File.Move(certificate + ".p7", certificate, overwrite: true);
                break;
            case "certificate is PKCS#7 in DER":
                await OpenSslAsync("crl2pkcs7", "-nocrl", "-certfile", certificate, "-outform", "DER", "-out", certificate + ".p7");
                File.Move(certificate + ".p7", certificate, overwrite: true);
                break;
            case "certificate is a request":
                await OpenSslAsync("req", "-new", "-key", key, "-subj", "/CN=a.example", "-out", certificate);
                break;
            case "certificate is a key":
                await File.WriteAllTextAsync(certificate, keyText);
                break;
            case "key is a certificate":
                await File.WriteAllTextAsync(key, certificateText);
                break;
            case "key is public":
                await OpenSslAsync("pkey", "-in", key, "-pubout", "-out", key + ".pub");
                File.Move(key + ".pub", key, overwrite: true);
                break;
            case "key is OpenSSH's":
                await File.WriteAllTextAsync(key, "-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n-----END OPENSSH PRIVATE KEY-----\n");
                break;
            case "key is PuTTY's":
                await File.WriteAllTextAsync(key, "PuTTY-User-Key-File-3: ssh-rsa\nEncryption: none\n");
                break;
            case "certificate is cut off":
                await File.WriteAllTextAsync(certificate, certificateText[..(certificateText.Length / 2)]);
                break;
            case "key is cut off":
                await File.WriteAllTextAsync(key, keyText[..(keyText.Length / 2)]);
                break;
            case "second certificate is cut off":
                await File.WriteAllTextAsync(certificate, $"{certificateText}\n{certificateText[..(certificateText.Length / 2)]}");
                break;
            case "certificate is not Base64":
                await File.WriteAllTextAsync(certificate, certificateText.Replace("MII", "M!I", StringComparison.Ordinal));
                break;
            case "certificate is noise":
                await File.WriteAllTextAsync(certificate, PemEncoding.WriteString("CERTIFICATE", Pattern.Make(1, 300)));
                break;
            case "key is noise":
                await File.WriteAllTextAsync(key, PemEncoding.WriteString("PRIVATE KEY", Pattern.Make(1, 300)));
                break;
            case "certificate is UTF-16 without its mark":
                await File.WriteAllBytesAsync(certificate, Encoding.Unicode.GetBytes(certificateText));
                break;
            case "key is noise in DER":
                await File.WriteAllBytesAsync(key, [0x30, .. Pattern.Make(1, 300)]);
                break;
            case "certificate is noise in DER":
                await File.WriteAllBytesAsync(certificate, [0x30, .. Pattern.Make(1, 300)]);
                break;
            case "key is encrypted":
                return Pem.MakeEncrypted("server", "sesame", "a.example");
            case "key is encrypted as of old":
                await OpenSslAsync("rsa", "-in", key, "-aes128", "-traditional", "-passout", "pass:sesame", "-out", key + ".old");
                File.Move(key + ".old", key, overwrite: true);
                break;
            case "key is encrypted in DER":
                await OpenSslAsync("pkcs8", "-topk8", "-in", key, "-outform", "DER", "-passout", "pass:sesame", "-out", key + ".der");
                File.Move(key + ".der", key, overwrite: true);
                break;
            case "key is encrypted by DES":
                await OpenSslAsync("pkcs8", "-topk8", "-in", key, "-v1", "PBE-MD5-DES", "-provider", "legacy", "-provider", "default",
                    "-passout", "pass:sesame", "-out", key + ".des");
                File.Move(key + ".des", key, overwrite: true);
                return files with { Password = "sesame" };
            case "certificate is of a short key":
                return Pem.MakeRsa("server", 1024, "a.example");
            default:
                throw new ArgumentException(what);
        }

        return files;
    }

    private static async Task OpenSslAsync(params string[] arguments) => await Tools.RunAsync("openssl", "", arguments);
}
