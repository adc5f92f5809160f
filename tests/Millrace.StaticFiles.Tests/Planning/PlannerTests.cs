using System.Text;
using Millrace.StaticFiles.Catalog;
using Millrace.StaticFiles.Planning;
using Millrace.StaticFiles.Tests.Kit;

namespace Millrace.StaticFiles.Tests.Planning;

public sealed class PlannerTests : IDisposable
{
    private readonly TempSite _site = new();
    private AssetCatalog? _catalog;

    private CatalogSnapshot Snapshot => (_catalog ??= _site.Open()).Current;

    public void Dispose()
    {
        _catalog?.Dispose();
        _site.Dispose();
    }

    [Fact]
    public void Get_of_an_asset_sends_it_and_head_only_speaks_of_it()
    {
        _site.File("a.txt", "a");

        Plan get = PlanFor(RequestMethod.Get, "/a.txt");
        Plan head = PlanFor(RequestMethod.Head, "/a.txt");

        Assert.Equal(PlanStatus.Ok, get.Status);
        Assert.Equal(PlanStatus.Ok, head.Status);
        Assert.Same(Snapshot.Asset("/a.txt"), get.Asset);
        Assert.Same(get.Asset, head.Asset);
        Assert.Equal(PlanBody.Asset, get.Body);
        Assert.Equal(PlanBody.None, head.Body);
        Assert.True(get.Allow.IsEmpty);
        Assert.True(get.Location.IsEmpty);
    }

    [Fact]
    public void A_directory_with_slash_serves_its_index_and_is_404_without_one()
    {
        _site.File("dir/index.html", "x");
        _site.EmptyDirectory("empty");

        Assert.Same(Snapshot.Asset("/dir/index.html"), PlanFor(RequestMethod.Get, "/dir/").Asset);
        Assert.Equal(PlanStatus.NotFound, PlanFor(RequestMethod.Get, "/empty/").Status);
    }

    [Fact]
    public void What_is_not_there_is_404_without_body()
    {
        Plan plan = PlanFor(RequestMethod.Get, "/nothing");

        Assert.Equal(PlanStatus.NotFound, plan.Status);
        Assert.Null(plan.Asset);
        Assert.Equal(PlanBody.None, plan.Body);
    }

    [Theory]
    [InlineData("/a.txt")]
    [InlineData("/dir")]
    [InlineData("/nothing")]
    public void Methods_no_file_takes_are_405_with_allow_and_unknown_ones_501(string path)
    {
        _site.File("a.txt", "a");
        _site.EmptyDirectory("dir");

        Plan other = PlanFor(RequestMethod.Other, path);
        Plan unknown = PlanFor(RequestMethod.Unknown, path);
        Plan options = PlanFor(RequestMethod.Options, path);

        Assert.Equal(PlanStatus.MethodNotAllowed, other.Status);
        Assert.Equal("GET, HEAD, OPTIONS"u8, other.Allow);
        Assert.Equal(PlanStatus.NotImplemented, unknown.Status);
        Assert.True(unknown.Allow.IsEmpty);
        Assert.Equal(PlanStatus.NoContent, options.Status);
        Assert.Equal("GET, HEAD, OPTIONS"u8, options.Allow);
        Assert.Null(other.Asset);
        Assert.True(other.Location.IsEmpty);
    }

    [Theory]
    [InlineData("dir", "", "dir/")]
    [InlineData("dir", "a=b&c", "dir/?a=b&c")]
    [InlineData("dir", "a=%20%41?/:@", "dir/?a=%20%41?/:@")]
    [InlineData("dir", "a\r\nSet-Cookie: x", "dir/?a%0D%0ASet-Cookie:%20x")]
    [InlineData("dir", "ä\"<>#\u007f", "dir/?%C3%A4%22%3C%3E%23%7F")]
    [InlineData("a/b/dir", "q", "dir/?q")]
    [InlineData("with space", "", "with%20space/")]
    [InlineData("käse", "", "k%C3%A4se/")]
    [InlineData("100%25", "", "100%2525/")]
    [InlineData("what?#", "", "what%3F%23/")]
    [InlineData("javascript:alert(1)", "", "javascript%3Aalert(1)/")]
    [InlineData("\\\\evil.example", "", "%5C%5Cevil.example/")]
    [InlineData("line\r\nfeed", "", "line%0D%0Afeed/")]
    public void A_directory_without_slash_redirects_to_it_and_keeps_the_query(string directory, string query, string location)
    {
        _site.EmptyDirectory(directory);
        byte[] path = Encoding.UTF8.GetBytes('/' + directory);

        Plan plan = Planner.Plan(RequestMethod.Get, path, Encoding.UTF8.GetBytes(query), Snapshot);

        Assert.Equal(PlanStatus.MovedPermanently, plan.Status);
        Assert.Equal(PlanBody.None, plan.Body);
        byte[] written = new byte[plan.Location.BytesMax];
        Assert.Equal(location, Encoding.ASCII.GetString(written, 0, plan.Location.Write(written)));
        string asked = string.Join('/', directory.Split('/').Select(Uri.EscapeDataString));
        var followed = new Uri(new Uri($"http://host.example/{asked}"), location);
        Assert.Equal("host.example", followed.Host);
        Assert.Equal($"/{directory}/", Uri.UnescapeDataString(followed.AbsolutePath));
    }

    private Plan PlanFor(RequestMethod method, string path) => Planner.Plan(method, Encoding.UTF8.GetBytes(path), default, Snapshot);
}
