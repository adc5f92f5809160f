using System.Net;
using Millrace.Server.Admin;
using Millrace.Server.Configuration;
using Millrace.Server.Https;
using Millrace.StaticFiles;
using Millrace.StaticFiles.Rules;

namespace Millrace.Server.Tests.Configuration;

/// <summary>Which options are errors where OpenSSL is missing.</summary>
public class OpenSslNeedsTests
{
    public static TheoryData<string, bool> Options => new()
    {
        { "--listing", false },
        { "--https", true },
        { "--auth", true },
        { "--proxy http", false },
        { "--proxy https", true },
        { "--otlp http", false },
        { "--otlp https", true },
    };

    [Theory]
    [MemberData(nameof(Options))]
    public void Those_that_need_it_name_cause_and_remedy(string set, bool needs)
    {
        string[] parts = set.Split(' ');
        ServeOptions options = parts[0] switch
        {
            "--https" => With(new SiteOptions { Root = "/" }) with { Https = new HttpsOptions { Addresses = [new IPEndPoint(0, 443)] } },
            "--auth" => With(new SiteOptions { Root = "/", PasswordRules = [new PasswordRule("/private/*", "/users")] }),
            "--proxy" => With(new SiteOptions { Root = "/", Proxies = [new ProxyRule("/api/*", [$"{parts[1]}://a.example"])] }),
            "--otlp" => With(new SiteOptions { Root = "/" }) with
            {
                Admin = new AdminOptions { Collector = new Uri($"{parts[1]}://a.example") },
            },
            _ => With(new SiteOptions { Root = "/", Listing = true }),
        };
        var errors = new List<OptionError>();
        OpenSslNeeds.Check(options, SettingSet.Empty, missing: null, errors);
        Assert.Empty(errors);

        OpenSslNeeds.Check(options, SettingSet.Empty, "libssl.so.3", errors);

        Assert.Equal(needs ? 1 : 0, errors.Count);
        Assert.All(errors, error =>
        {
            Assert.StartsWith(parts[0], error.ToString(), StringComparison.Ordinal);
            Assert.Contains("needs OpenSSL 3, and libssl.so.3 cannot be loaded. Install OpenSSL 3", error.ToString(), StringComparison.Ordinal);
        });
    }

    private static ServeOptions With(SiteOptions site) => new() { Site = site };
}
