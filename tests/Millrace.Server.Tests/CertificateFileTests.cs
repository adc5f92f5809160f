using System.Net.Security;
using System.Net.Sockets;
using System.Runtime.InteropServices;
using System.Text;
using Millrace.Server.Tests.Kit;

namespace Millrace.Server.Tests;

/// <summary>Certificates and keys that do not fit, at the start, at SIGHUP and in <c>check</c>; and those with a byte order mark.</summary>
public class CertificateFileTests
{
    private static readonly string[] Kinds = ["rsa", "ecdsa", "p384", "ed25519"];

    [Theory]
    [InlineData("rsa")]
    [InlineData("ecdsa")]
    [InlineData("p384")]
    [InlineData("ed25519")]
    [Trait("Duration", "Full")]
    public async Task A_key_that_is_not_the_certificates_is_refused_at_the_start_by_check_and_at_sighup(string kind)
    {
        using var folder = new TempFolder();
        (string certificate, string key) = await MakeAsync(folder, "own", kind);
        (string served, string servedKey) = (folder.PathOf("served.crt"), folder.PathOf("served.key"));
        File.Copy(certificate, served);
        File.Copy(key, servedKey);
        await using ServerProcess server = await ServerProcess.StartAsync(
            Places.SampleSite, "--https", "127.0.0.1:0", "--cert", served, "--key", servedKey);
        int refused = 0;
        foreach (string other in Kinds)
        {
            // Of its own kind another key.
            (_, string wrong) = await MakeAsync(folder, $"other-{other}", other);
            foreach (string[] command in (string[][])[[Places.SampleSite], ["check", Places.SampleSite]])
            {
                ToolResult result = await Tool.RunAsync(
                    Publication.Program, [.. command, "--https", "127.0.0.1:0", "--cert", certificate, "--key", wrong]);
                Assert.Equal(2, result.ExitCode);
                Assert.StartsWith("millrace: ", result.Error, StringComparison.Ordinal);
                Assert.Contains($"'{wrong}' does not match the certificate in '{certificate}'", result.Error, StringComparison.Ordinal);
            }

            File.Copy(wrong, servedKey, overwrite: true);
            server.Signal(PosixSignal.SIGHUP);
            refused++;
            await server.AwaitErrorAsync($"'{servedKey}' does not match the certificate in '{served}'", refused);
        }

        Assert.Equal(0, server.CountErrors("Certificates reloaded"));
        if (kind != "ed25519")
        {
            // .NET's client does not take such a certificate.
            await AssertServedAsync(server);
        }
    }

    [Fact]
    public async Task Files_with_a_byte_order_mark_and_another_certificate_first_are_served()
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
        Assert.Equal(1, server.CountErrors($"{own[1]} also holds a certificate of CN=authority.example"));
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

    /// <summary>A certificate that signs itself, with a key of this kind.</summary>
    private static async Task<(string Certificate, string Key)> MakeAsync(TempFolder folder, string file, string kind)
    {
        string[] kindOfKey = kind switch
        {
            "rsa" => ["rsa:2048"],
            "ecdsa" => ["ec", "-pkeyopt", "ec_paramgen_curve:P-256"],
            "p384" => ["ec", "-pkeyopt", "ec_paramgen_curve:P-384"],
            _ => [kind],
        };
        Tool.Require("openssl");
        (string certificate, string key) = (folder.PathOf(file + ".crt"), folder.PathOf(file + ".key"));
        await Tool.RunToSuccessAsync(
            TimeSpan.FromSeconds(60),
            "openssl", ["req", "-x509", "-noenc", "-days", "90", "-subj", "/CN=a.example", "-keyout", key, "-out", certificate, "-newkey", .. kindOfKey]);
        return (certificate, key);
    }
}
