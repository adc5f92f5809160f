using System.Net.Security;
using System.Net.Sockets;
using System.Security.Cryptography.X509Certificates;
using System.Text.RegularExpressions;
using Millrace.Engine;
using Millrace.Engine.Tests.Kit;
using Millrace.Tls.Certificates;
using Millrace.Tls.Tests.Kit;

namespace Millrace.Tls.Tests;

/// <summary>Which certificate a client is shown, what is said of those that will not do, and how they are replaced.</summary>
public class CertificateTests : TlsTest
{
    [Theory]
    [InlineData("a.example", "a.example")]
    [InlineData("A.Example", "a.example")]
    [InlineData("www.b.example", "*.b.example")]
    [InlineData("x.www.b.example", "default.example")]
    [InlineData("b.example", "default.example")]
    [InlineData("exact.b.example", "exact.b.example")]
    [InlineData("unknown.example", "default.example")]
    [InlineData("", "default.example")]
    public async Task The_host_that_a_client_names_decides(string host, string shown)
    {
        Listener listener = await ServeTlsAsync(Handlers.EchoAsync, TlsOptions(
            Pem.Make("default", "default.example"),
            Pem.Make("a", "a.example", "also-a.example"),
            Pem.Make("b", "*.b.example"),
            Pem.Make("exact", "exact.b.example")));
        SslStream stream = await ConnectTlsAsync(listener, new SslClientAuthenticationOptions { TargetHost = host });
        Assert.Equal($"CN={shown}", stream.RemoteCertificate!.Subject);
    }

    [Fact]
    public async Task What_a_disposed_terminator_has_is_freed_with_its_last_connection()
    {
        Listener listener = await ServeTlsAsync(Handlers.EchoAsync);
        (Client firstClient, _) = await ConnectWithSocketAsync();
        (Client secondClient, SslStream second) = await ConnectWithSocketAsync();
        Terminator.Dispose();
        firstClient.Socket.Dispose();
        await second.WriteAsync("ab"u8.ToArray()).AsTask().Within();
        Assert.Equal("ab"u8.ToArray(), await ReceiveAsync(second, 2));
        Assert.Equal(1, ServerContext.Live);
        secondClient.Socket.Dispose();
        await Waiting.UntilAsync(() => ServerContext.Live == 0, "the context was freed");

        async Task<(Client, SslStream)> ConnectWithSocketAsync()
        {
            Client client = await ConnectAsync(listener);
            SslStream stream = Keep(new SslStream(new NetworkStream(client.Socket)));
            await stream.AuthenticateAsClientAsync(Trusting()).Within();
            return (client, stream);
        }
    }

    [Fact]
    public void A_name_that_two_certificates_have_is_logged()
    {
        Terminate(TlsOptions(Pem.Make("first", "a.example"), Pem.Make("second", "a.example")));
        string line = Assert.Single(Log.Entries, static entry => entry.Id == 606).Text;
        Assert.Contains("second.crt is not used for a.example", line, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("ECDSA+SHA256:RSA-PSS+SHA256", "ecdsa", "-tls1_3")]
    [InlineData("RSA-PSS+SHA256:ECDSA+SHA256", "ecdsa", "-tls1_3")]
    [InlineData("RSA-PSS+SHA256", "rsa", "-tls1_3")]
    [InlineData("RSA+SHA256", "rsa", "-tls1_2")]
    [InlineData("ECDSA+SHA256", "ecdsa", "-tls1_2")]
    public async Task Of_two_for_one_host_a_client_is_shown_that_whose_signatures_it_knows(string known, string shown, string version)
    {
        TlsOptions options = TlsOptions(
            Pem.Make("other", "other.example"), Pem.MakeRsa("rsa", "a.example", "b.example"), Pem.Make("ecdsa", "B.example", "a.example"));
        Listener listener = await ServeTlsAsync(WebHandler.ServeAsync, options);
        string seen = await Tools.AskAsync(listener, "GET /session HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
            "-servername", "a.example", "-sigalgs", known, version);
        Assert.Contains("sni=a.example", seen, StringComparison.Ordinal);
        Assert.Matches(shown == "rsa" ? "Peer signature type: RSA" : "Peer signature type: ECDSA", seen);
        Assert.Equal(0, Log.Count(606));
    }

    [Fact]
    public void Three_for_one_host_are_one_too_many()
    {
        Terminate(TlsOptions(Pem.MakeRsa("rsa", "a.example"), Pem.Make("ecdsa", "a.example"), Pem.MakeRsa("again", "a.example")));
        string line = Assert.Single(Log.Entries, static entry => entry.Id == 606).Text;
        Assert.Contains("again.crt is not used for a.example", line, StringComparison.Ordinal);
    }

    [Fact]
    public void Dates_that_clients_will_refuse_are_logged()
    {
        Terminate(TlsOptions(
            Pem.Make("old", DateTimeOffset.UtcNow.AddDays(-1), "old.example"),
            Pem.Make("new", DateTimeOffset.UtcNow.AddDays(90), "new.example")));
        Assert.Equal((1, 1), (Log.Count(604), Log.Count(605)));
    }

    [Theory]
    [InlineData("missing certificate", "The certificate '*' does not exist: check its path.")]
    [InlineData("missing key", "The key '*' does not exist: check its path.")]
    [InlineData("foreign key", "The key in '*' does not match the certificate in '*': give the key that the certificate was made for.")]
    [InlineData("no certificate", "'*' holds no certificate in PEM*")]
    [InlineData("no key", "'*' holds a certificate but no private key: also name the file with its key (--key).")]
    [InlineData("encrypted", "The key in '*' is encrypted: name a file with its password (--key-password), or decrypt it with 'openssl pkey *")]
    [InlineData("wrong password", "The key in '*' cannot be decrypted with the given password: check that both belong together.")]
    [InlineData("no authorities", "'*' holds no certificates of authorities in PEM*")]
    [InlineData("none", "TLS needs a certificate: specify one, with its key.")]
    public void What_will_not_do_is_said_in_words(string what, string expected)
    {
        CertificateFiles good = Pem.Make("good", "a.example");
        CertificateFiles other = Pem.Make("other", "b.example");
        TlsOptions options = what switch
        {
            "missing certificate" => TlsOptions(good with { Certificate = Pem.PathOf("nothing") }),
            "missing key" => TlsOptions(good with { Key = Pem.PathOf("nothing") }),
            "foreign key" => TlsOptions(good with { Key = other.Key }),
            "no certificate" => TlsOptions(good with { Certificate = good.Key }),
            "no key" => TlsOptions(good with { Key = good.Certificate }),
            "encrypted" => TlsOptions(Pem.MakeEncrypted("secret", "sesame", "a.example")),
            "wrong password" => TlsOptions(Pem.MakeEncrypted("secret", "sesame", "a.example") with { Password = "simsalabim" }),
            "no authorities" => TlsOptions(good) with
            {
                ClientCertificates = ClientCertificates.Required,
                ClientAuthoritiesFile = good.Key,
            },
            _ => TlsOptions(good) with { Certificates = [] },
        };
        TlsException refusal = Assert.Throws<TlsException>(() => Terminate(options));
        Assert.Matches($"^{Regex.Escape(expected).Replace(@"\*", ".*", StringComparison.Ordinal)}$", refusal.Message);
    }

    [Fact]
    public async Task An_encrypted_key_opens_with_its_password()
    {
        Listener listener = await ServeTlsAsync(
            Handlers.EchoAsync, TlsOptions(Pem.MakeEncrypted("secret", "sesame", "a.example") with { Password = "sesame" }));
        await ConnectTlsAsync(listener);
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task A_certificate_that_was_loaded_already_serves_with_its_chain(bool isRsa)
    {
        CertificateFiles files = isRsa ? Pem.MakeRsa("loaded", "a.example") : Pem.Make("loaded", "a.example");
        using X509Certificate2 loaded = X509Certificate2.CreateFromPemFile(files.Certificate, files.Key);
        using X509Certificate2 issuer = X509CertificateLoader.LoadCertificateFromFile(Pem.MakeSigned("issuer", "x").Authority);
        Listener listener = await ServeTlsAsync(
            WebHandler.ServeAsync, TlsOptions() with { Certificates = [new LoadedCertificate(loaded, [issuer])] });
        Assert.True(Terminator.TryReload());
        string seen = await Tools.AskAsync(listener, "GET /1 HTTP/1.1\r\nConnection: close\r\n\r\n", "-showcerts");
        Assert.Contains("subject=CN = a.example", seen, StringComparison.Ordinal);
        Assert.Contains("s:CN = issuer authority", seen, StringComparison.Ordinal);
    }

    [Fact]
    public void A_loaded_certificate_without_its_key_will_not_do()
    {
        using X509Certificate2 bare = X509CertificateLoader.LoadCertificateFromFile(Pem.Make("bare", "a.example").Certificate);
        TlsException refusal = Assert.Throws<TlsException>(
            () => Terminate(TlsOptions() with { Certificates = [new LoadedCertificate(bare)] }));
        Assert.Contains("CN=a.example has no private key", refusal.Message, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Rsa_serves_too()
    {
        Listener listener = await ServeTlsAsync(Handlers.EchoAsync, TlsOptions(Pem.MakeRsa("rsa", "localhost")));
        SslStream stream = await ConnectTlsAsync(listener);
        await stream.WriteAsync(new byte[] { 1 }).AsTask().Within();
        Assert.Equal([1], await ReceiveAsync(stream, 1));
    }

    [Fact]
    public async Task New_files_are_shown_to_new_clients_and_the_others_stay_connected()
    {
        Listener listener = await ServeTlsAsync(Handlers.EchoAsync, TlsOptions(Pem.Make("server", "old.example")));
        SslStream early = await ConnectTlsAsync(listener);
        Pem.Make("server", "new.example");
        Assert.True(Terminator.TryReload());
        SslStream late = await ConnectTlsAsync(listener);
        Assert.Equal(("CN=old.example", "CN=new.example"), (early.RemoteCertificate!.Subject, late.RemoteCertificate!.Subject));
        foreach (SslStream stream in (SslStream[])[early, late])
        {
            await stream.WriteAsync(new byte[] { 5 }).AsTask().Within();
            Assert.Equal([5], await ReceiveAsync(stream, 1));
        }
    }

    [Fact]
    public async Task Other_certificates_are_shown_to_new_clients_and_read_by_later_reloads()
    {
        CertificateFiles first = Pem.Make("first", "first.example");
        CertificateFiles second = Pem.Make("second", "second.example");
        var inFull = new SslClientAuthenticationOptions { TargetHost = "localhost", AllowTlsResume = false };
        Listener listener = await ServeTlsAsync(Handlers.EchoAsync, TlsOptions(first));
        SslStream before = await ConnectTlsAsync(listener, inFull);
        Assert.True(Terminator.TryReplaceCertificates([second]));
        SslStream after = await ConnectTlsAsync(listener, inFull);
        Assert.Equal(("CN=first.example", "CN=second.example"), (before.RemoteCertificate!.Subject, after.RemoteCertificate!.Subject));
        await before.WriteAsync(new byte[] { 1 }).AsTask().Within();
        Assert.Equal([1], await ReceiveAsync(before, 1));

        Pem.Make("second", "third.example");
        Assert.True(Terminator.TryReload());
        Assert.Equal("CN=third.example", (await ConnectTlsAsync(listener, inFull)).RemoteCertificate!.Subject);

        Assert.False(Terminator.TryReplaceCertificates([]));
        Assert.False(Terminator.TryReplaceCertificates([first with { Key = second.Key }]));
        Assert.True(Terminator.TryReload());
        Assert.Equal("CN=third.example", (await ConnectTlsAsync(listener, inFull)).RemoteCertificate!.Subject);
        Assert.Equal((3, 2), (Log.Count(602), Log.Count(603)));
    }

    [Fact]
    public async Task One_in_use_that_cannot_be_read_again_does_not_keep_others_out()
    {
        CertificateFiles first = Pem.Make("first", "first.example");
        CertificateFiles second = Pem.Make("second", "second.example");
        Listener listener = await ServeTlsAsync(Handlers.EchoAsync, TlsOptions(first));
        File.Delete(first.Key);
        Assert.True(Terminator.TryReplaceCertificates([first, second]));
        foreach (string host in (string[])["first.example", "second.example"])
        {
            var client = new SslClientAuthenticationOptions { TargetHost = host, AllowTlsResume = false };
            Assert.Equal($"CN={host}", (await ConnectTlsAsync(listener, client)).RemoteCertificate!.Subject);
        }

        Assert.Equal(1, Log.Count(612));
        Assert.False(Terminator.TryReload());
        Assert.False(Terminator.TryReplaceCertificates([second with { Key = first.Key }]));
        var last = new SslClientAuthenticationOptions { TargetHost = "first.example", AllowTlsResume = false };
        Assert.Equal("CN=first.example", (await ConnectTlsAsync(listener, last)).RemoteCertificate!.Subject);
    }

    [Fact]
    public async Task A_bad_new_file_keeps_the_old_and_is_logged()
    {
        CertificateFiles files = Pem.Make("server", "old.example");
        Listener listener = await ServeTlsAsync(Handlers.EchoAsync, TlsOptions(files));
        await File.WriteAllTextAsync(files.Certificate, "-----BEGIN CERTIFICATE-----\nhalf", TestContext.Current.CancellationToken);
        Assert.False(Terminator.TryReload());
        Assert.Equal(1, Log.Count(603));
        SslStream stream = await ConnectTlsAsync(listener);
        Assert.Equal("CN=old.example", stream.RemoteCertificate!.Subject);
    }

    [Fact]
    public async Task Reloads_under_load_break_no_handshake()
    {
        Listener listener = await ServeTlsAsync(Handlers.EchoAsync, options: Options() with { Reactors = 2 });
        using var stop = new CancellationTokenSource();
        Task reloads = Task.Run(
            async () =>
            {
                while (!stop.IsCancellationRequested)
                {
                    Assert.True(Terminator.TryReload());
                    await Task.Yield();
                }
            },
            CancellationToken.None);
        await Parallel.ForAsync(0, 100, new ParallelOptions { MaxDegreeOfParallelism = 8 }, async (i, _) =>
        {
            using Client client = await Client.ConnectAsync(listener.EndPoint);
            using var stream = new SslStream(new System.Net.Sockets.NetworkStream(client.Socket));
            await stream.AuthenticateAsClientAsync(Trusting(), CancellationToken.None).Within();
            await stream.WriteAsync(Pattern.Make(i, 100), CancellationToken.None).AsTask().Within();
            Pattern.Check(i, await ReceiveAsync(stream, 100));
        });
        await stop.CancelAsync();
        await reloads.Within();
        Assert.Equal((100, 0), (Terminator.Counters.HandshakesDone, Terminator.Counters.HandshakesFailed));
    }

    [Theory]
    [InlineData(ClientCertificates.Optional, false, true)]
    [InlineData(ClientCertificates.Optional, true, true)]
    [InlineData(ClientCertificates.Required, false, false)]
    [InlineData(ClientCertificates.Required, true, true)]
    public async Task Clients_are_asked_for_certificates(ClientCertificates mode, bool hasOne, bool isServed)
    {
        (string authority, CertificateFiles leaf) = Pem.MakeSigned("client", "client");
        Listener listener = await ServeTlsAsync(
            WebHandler.ServeAsync, TlsOptions() with { ClientCertificates = mode, ClientAuthoritiesFile = authority });
        string[] own = hasOne ? ["--cert", leaf.Certificate, "--key", leaf.Key] : [];
        string seen = await Tools.RunAsync("curl", "", ["-sk", .. own, $"https://127.0.0.1:{PortOf(listener)}/session"]);
        Assert.Equal(isServed, seen.Contains("client=", StringComparison.Ordinal));
        using X509Certificate2 certificate = X509CertificateLoader.LoadCertificateFromFile(leaf.Certificate);
        Assert.Equal(isServed && hasOne, seen.Contains($"client={certificate.RawData.Length}\n", StringComparison.Ordinal));
    }

    [Fact]
    public async Task A_certificate_of_another_authority_is_refused()
    {
        (string authority, _) = Pem.MakeSigned("client", "client");
        (_, CertificateFiles stranger) = Pem.MakeSigned("stranger", "client");
        Listener listener = await ServeTlsAsync(
            WebHandler.ServeAsync,
            TlsOptions() with { ClientCertificates = ClientCertificates.Optional, ClientAuthoritiesFile = authority });
        string seen = await Tools.AskAsync(listener, "GET /session HTTP/1.1\r\n\r\n", "-cert", stranger.Certificate, "-key", stranger.Key);
        Assert.Contains("alert", seen, StringComparison.Ordinal);
        Assert.Equal((0, 1), (Terminator.Counters.HandshakesDone, Terminator.Counters.HandshakesFailed));
    }

    [Fact]
    public async Task Without_authorities_whoever_serves_judges_the_certificate()
    {
        (_, CertificateFiles stranger) = Pem.MakeSigned("stranger", "client");
        Listener listener = await ServeTlsAsync(
            WebHandler.ServeAsync, TlsOptions() with { ClientCertificates = ClientCertificates.Required });
        string seen = await Tools.RunAsync(
            "curl", "", "-sk", "--cert", stranger.Certificate, "--key", stranger.Key, $"https://127.0.0.1:{PortOf(listener)}/session");
        Assert.Matches(@"client=[1-9]\d+\n", seen);
    }
}
