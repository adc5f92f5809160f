using System.Net;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Http;
using Millrace.AspNetCore.Tests.StaticFiles.Kit;
using Millrace.StaticFiles;

namespace Millrace.AspNetCore.Tests.StaticFiles;

/// <summary>Access by path in the middleware.</summary>
public sealed class AccessTests : IDisposable
{
    private readonly SiteFolder _folder = new();

    public AccessTests()
    {
        _folder.Add("index.html", "home");
        _folder.Add("private/a.txt", "secret");
        _folder.Add("office/a.txt", "secret");
    }

    public void Dispose() => _folder.Dispose();

    [Fact]
    public async Task Paths_are_for_clients_and_passwords_and_the_others_for_everybody()
    {
        // "right", as cheap as SHA-512 crypt allows.
        const string Hash =
            "$6$rounds=1000$saltstring$mEmMR6JdPLut3.0gCFgR5..jVisIB2iqApHuJY0D8mBBbgY4CBuL2l.0PZBw0ZwEixXjvEmZnqlHGGNBHNeif.";
        string passwords = _folder.PathOf("passwords");
        await File.WriteAllTextAsync(passwords, $"ann:{Hash}\n", TestContext.Current.CancellationToken);
        var options = new SiteOptions
        {
            Root = _folder.Root,
            PasswordRules = [new PasswordRule("/private/*", passwords)],
            AllowedClients = [new ClientRule("/office/*", ["192.0.2.0/24"])],
            DeniedClients = [new ClientRule("/elsewhere/closed/*", ["127.0.0.0/8"])],
        };
        await using HostedApp app = await HostedApp.StartAsync(app =>
        {
            app.UseMillraceStaticFiles(options);
            app.Use(static (context, next) => context.Request.Path.StartsWithSegments("/elsewhere", StringComparison.Ordinal)
                ? context.Response.WriteAsync("of the application")
                : next(context));
        });
        string credentials = "Basic " + Convert.ToBase64String("ann:right"u8);

        Assert.Equal(HttpStatusCode.OK, await StatusAsync(app, HttpMethod.Get, "/"));
        Assert.Equal(HttpStatusCode.Unauthorized, await StatusAsync(app, HttpMethod.Get, "/private/a.txt"));
        Assert.Equal(HttpStatusCode.Unauthorized, await StatusAsync(app, HttpMethod.Get, "/PRIVATE/nothing"));
        Assert.Equal(HttpStatusCode.Unauthorized, await StatusAsync(app, HttpMethod.Get, "/private"));
        Assert.Equal(HttpStatusCode.OK, await StatusAsync(app, HttpMethod.Get, "/private/a.txt", ("Authorization", credentials)));
        Assert.Equal(HttpStatusCode.OK, await StatusAsync(app, HttpMethod.Get, "/private/a.txt", ("Authorization", credentials)));
        Assert.Equal(HttpStatusCode.Forbidden, await StatusAsync(app, HttpMethod.Get, "/office/a.txt"));
        Assert.Equal(HttpStatusCode.OK, await StatusAsync(app, HttpMethod.Get, "/elsewhere/x"));
        Assert.Equal(HttpStatusCode.OK, await StatusAsync(app, HttpMethod.Post, "/elsewhere/x"));
        Assert.Equal(HttpStatusCode.Forbidden, await StatusAsync(app, HttpMethod.Get, "/elsewhere/closed/x"));
        Assert.Equal(HttpStatusCode.Forbidden, await StatusAsync(app, HttpMethod.Post, "/elsewhere/closed/x"));
    }

    private static async Task<HttpStatusCode> StatusAsync(HostedApp app, HttpMethod method, string target, params (string, string)[] fields)
    {
        using HttpResponseMessage response = await app.AskAsync(method, target, fields);
        return response.StatusCode;
    }
}
