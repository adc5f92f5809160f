using Millrace.Conformance.Tests.Kit;

namespace Millrace.Conformance.Tests.Sites;

/// <summary>--auth FILE: who has no password learns nothing of the site.</summary>
public class CredentialTests
{
    private const int Group = 29;

    [Theory]
    [Behaviour("RFC 9110 11.6.1", Group, "--auth: without credentials the response is 401 with a challenge that names the realm and UTF-8.")]
    public async Task Without_credentials_the_response_is_401(Site site)
    {
        Response response = (await Guarded(site).GetAsync("/text.txt")).Is(401);
        response.Has("WWW-Authenticate", "Basic realm=\"the mill\", charset=\"UTF-8\"");
        Expect.That(!response.Text.Contains("line 1 of", StringComparison.Ordinal), "401 with the file");
        response.Lacks("ETag").Lacks("Last-Modified");
    }

    [Theory]
    [Behaviour("RFC 7617 2", Group, "--auth: with the right password the file is served, whatever the kind of hash.")]
    public Task With_the_password_the_file_is_served(Site site) => Expect.EachAsync([.. Passwords.All.Keys], async user =>
        (await Guarded(site).GetAsync("/text.txt", Basic(user, Passwords.All[user]))).IsWhole(Site.Files["/text.txt"]));

    [Theory]
    [Behaviour("RFC 7617 2", Group, "--auth: a wrong password and an unknown user are answered with 401.")]
    public Task A_wrong_password_is_401(Site site) => Expect.EachAsync(
        ["bcrypt:Secret", "bcrypt:", "sha512:secret ", "nobody:secret", ":secret", "bcrypt:secretx", "colon:se", "# comment:",
            "sha512:sha512"],
        async pair => (await Guarded(site).GetAsync("/text.txt", Basic(pair.Split(':')[0], pair[(pair.IndexOf(':') + 1)..]))).Is(401));

    [Theory]
    [Behaviour("RFC 9110 11.1", Group, "--auth: the scheme is case-insensitive.")]
    public async Task The_scheme_has_no_case(Site site) =>
        (await Guarded(site).GetAsync("/one.txt", Basic("bcrypt", "secret").Replace("Basic", "bASIC", StringComparison.Ordinal))).Is(200);

    [Theory]
    [Behaviour("RFC 9110 11.6.2", Group, "--auth: malformed credentials are answered with 401 or 400.")]
    public Task Malformed_credentials_are_refused(Site site) => Expect.EachAsync(
        ["Basic", "Basic ", "Basic !!!", "Basic YmNyeXB0", "Bearer c2VjcmV0", "Basic YmNyeXB0OnNlY3JldA==x", "YmNyeXB0OnNlY3JldA==", ""],
        async value => (await Guarded(site).GetAsync("/text.txt", $"Authorization: {value}")).Is(400, 401));

    [Theory]
    [Behaviour("RFC 9110 15.5.2", Group, "--auth: every path gets 401, so that it does not reveal which files exist.")]
    public Task Everything_is_guarded(Site site) => Expect.EachAsync(
        ["GET /", "GET /dir", "GET /missing.txt", "HEAD /text.txt", "GET /.well-known/security.txt", "GET /404.html", "GET /.hidden"],
        async line => (await Guarded(site).AskAsync(line.Split(' ')[0], line.Split(' ')[1])).Is(401));

    [Theory]
    [Behaviour("RFC 9110 13.2.1", Group, "--auth: conditions and ranges change nothing about a 401.")]
    public Task A_401_ignores_conditions(Site site) => Expect.EachAsync(
        ["If-None-Match: *", "If-Match: \"x\"", "Range: bytes=0-4", $"If-Modified-Since: {DateTime.UtcNow:R}"],
        async field => (await Guarded(site).GetAsync("/text.txt", field)).Is(401));

    [Theory]
    [Behaviour("RFC 9111 3.5", Group, "--auth: no response is public, so that no shared cache keeps it.")]
    public Task No_response_is_public(Site site) => Expect.EachAsync(
        ["/text.txt", "/", "/assets/app.3f9a1c2b.js", "/missing.txt"],
        async target =>
        {
            Response response = (await Guarded(site).GetAsync(target, Basic("bcrypt", "secret"))).Is(200, 404);
            Expect.That(!response.Lists("Cache-Control", "public"), $"Cache-Control: {response["Cache-Control"]}");
        });

    [Theory]
    [Behaviour("RFC 9110 15.5.2", Group, "--auth: the connection continues after a 401, and the next request may be admitted.")]
    public async Task A_401_keeps_the_connection(Site site)
    {
        using Wire wire = await Guarded(site).ConnectAsync();
        (await wire.GetAsync("/one.txt")).Is(401);
        (await wire.GetAsync("/one.txt", Basic("bcrypt", "secret"))).IsWhole(Site.Files["/one.txt"]);
        (await wire.GetAsync("/one.txt")).Is(401);
    }

    private static Site Guarded(Site site) => site.With("--auth", Site.Files.PasswordFile, "--realm", "the mill");

    private static string Basic(string user, string password) =>
        $"Authorization: Basic {Convert.ToBase64String(Fixture.Utf8($"{user}:{password}"))}";
}
