using System.Net.Security;
using System.Net.Sockets;
using System.Runtime.InteropServices;
using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;
using System.Text;
using Millrace.Server.Tests.Kit;

namespace Millrace.Server.Tests;

/// <summary>Certificates and keys that do not fit, at the start, at SIGHUP and in <c>check</c>; and those with a byte order mark.</summary>
public class CertificateFileTests
{
    [Fact]
    public async Task A_key_of_another_kind_is_refused_at_the_start_and_by_check()
    {
        using var folder = new TempFolder();
        string[] ecdsa = OwnCertificate.Make(folder, "ecdsa", "a.example");
        string[] rsa = MakeRsa(folder, "rsa", "a.example");
        foreach ((string certificate, string key) in ((string, string)[])[(ecdsa[1], rsa[3]), (rsa[1], ecdsa[3])])
        {
            foreach (string[] command in (string[][])[[Places.SampleSite], ["check", Places.SampleSite]])
            {
                ToolResult result = await Tool.RunAsync(
                    Publication.Program, [.. command, "--https", "127.0.0.1:0", "--cert", certificate, "--key", key]);
                Assert.Equal(2, result.ExitCode);
                Assert.StartsWith("millrace: ", result.Error, StringComparison.Ordinal);
                Assert.Contains($"'{key}' does not match the certificate in '{certificate}'", result.Error, StringComparison.Ordinal);
            }
        }
    }

    [Fact]
    public async Task A_key_of_another_kind_at_sighup_keeps_the_pair_in_use()
    {
        using var folder = new TempFolder();
        string[] own = OwnCertificate.Make(folder, "own", "a.example");
        string[] rsa = MakeRsa(folder, "rsa", "a.example");
        await using ServerProcess server = await ServerProcess.StartAsync([Places.SampleSite, "--https", "127.0.0.1:0", .. own]);
        File.Copy(rsa[3], own[3], overwrite: true);
        server.Signal(PosixSignal.SIGHUP);
        await server.AwaitErrorAsync($"'{own[3]}' does not match the certificate in '{own[1]}'");
        Assert.Equal(0, server.CountErrors("Certificates reloaded"));
        await AssertServedAsync(server);
    }

    [Fact]
    public async Task Files_with_a_byte_order_mark_and_the_authority_first_are_served()
    {
        using var folder = new TempFolder();
        string[] own = OwnCertificate.Make(folder, "own", "a.example");
        string[] authority = OwnCertificate.Make(folder, "authority", "authority.example");
        var marked = new UTF8Encoding(encoderShouldEmitUTF8Identifier: true);
        await File.WriteAllTextAsync(
            own[1], await ReadAsync(authority[1]) + "\n" + await ReadAsync(own[1]), marked, TestContext.Current.CancellationToken);
        await File.WriteAllTextAsync(own[3], await ReadAsync(own[3]), marked, TestContext.Current.CancellationToken);
        await using ServerProcess server = await ServerProcess.StartAsync([Places.SampleSite, "--https", "127.0.0.1:0", .. own]);
        await AssertServedAsync(server);
        Assert.Equal(1, server.CountErrors($"The certificates in {own[1]} are not in order"));
    }

    private static Task<string> ReadAsync(string file) => File.ReadAllTextAsync(file, TestContext.Current.CancellationToken);

    private static async Task AssertServedAsync(ServerProcess server)
    {
        using var client = new TcpClient();
        await client.ConnectAsync(server.Url.Host, server.Url.Port, TestContext.Current.CancellationToken);
        using var stream = new SslStream(client.GetStream(), leaveInnerStreamOpen: false, OwnCertificate.IsAnything);
        await stream.AuthenticateAsClientAsync("a.example");
        Assert.Equal("CN=a.example", stream.RemoteCertificate!.Subject);
    }

    private static string[] MakeRsa(TempFolder folder, string file, string name)
    {
        using var key = RSA.Create(2048);
        var request = new CertificateRequest($"CN={name}", key, HashAlgorithmName.SHA256, RSASignaturePadding.Pkcs1);
        using X509Certificate2 certificate = request.CreateSelfSigned(DateTimeOffset.UtcNow.AddDays(-1), DateTimeOffset.UtcNow.AddDays(9));
        folder.WriteText(file + ".crt", certificate.ExportCertificatePem());
        folder.WriteText(file + ".key", key.ExportPkcs8PrivateKeyPem());
        return ["--cert", folder.PathOf(file + ".crt"), "--key", folder.PathOf(file + ".key")];
    }
}
