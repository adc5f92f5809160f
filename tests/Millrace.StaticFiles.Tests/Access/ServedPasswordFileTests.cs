using Microsoft.Extensions.Logging.Abstractions;
using Millrace.StaticFiles.Tests.Kit;

namespace Millrace.StaticFiles.Tests.Access;

/// <summary>Who is let in must not be shown the hashes of the others.</summary>
public sealed class ServedPasswordFileTests : IDisposable
{
    private readonly TempSite _site = new();

    public void Dispose() => _site.Dispose();

    [Theory]
    [InlineData("users", "users", "/users")]
    [InlineData("private/users.txt", "private/users.txt", "/private/users.txt")]
    [InlineData("page.txt", "../users", "/page.txt")]
    public void A_site_that_would_serve_its_password_file_is_not_opened(string served, string file, string path)
    {
        _site.File(file, $"ann:{TestHash.Of("secret")}\n");
        if (served != file)
        {
            // By another name: a hard link, which inside the root is a file like any other.
            Assert.Equal(0, TestCalls.Link(_site.PathOf(file), _site.PathOf(served)));
        }

        SiteException refusal = Assert.Throws<SiteException>(() =>
            Site.Open(_site.Options with { PasswordFile = _site.PathOf(file) }, NullLoggerFactory.Instance));

        Assert.Contains($"'{path}'", refusal.Cause, StringComparison.Ordinal);
        Assert.NotEmpty(refusal.Remedy);
    }

    [Fact]
    public void A_hidden_one_may_lie_in_the_root()
    {
        string users = _site.File(".htpasswd", $"ann:{TestHash.Of("secret")}\n");

        using Site site = Site.Open(_site.Options with { PasswordFile = users }, NullLoggerFactory.Instance);

        Assert.NotNull(site.Access);
    }
}
