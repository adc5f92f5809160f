using System.Globalization;
using Millrace.HttpServer.Tests.Kit;

namespace Millrace.HttpServer.Tests;

public class ResponseTests : SiteFixture
{
    [Fact]
    public async Task Head_has_the_fields_of_get_and_no_body()
    {
        Folder.AddSizes();
        Folder.Add("/dir/index.html", SiteFolder.Bytes(9));
        RunningSite site = await StartAsync();
        Wire wire = await site.ConnectAsync();

        foreach (string target in SiteFolder.Sizes.Select(SiteFolder.Target).Concat(["/dir/", "/dir", "/none", "/%zz"]))
        {
            Response get = await wire.GetAsync(target);
            await wire.SendAsync($"HEAD {target} HTTP/1.1\r\nHost: a\r\n\r\n");
            Response head = await wire.ReadResponseAsync("HEAD");

            Assert.Equal(get.StatusLine, head.StatusLine);
            Assert.Equal(get.Fields.Where(NotDate), head.Fields.Where(NotDate));
            Assert.NotNull(head.Field("Content-Length"));
        }

        static bool NotDate((string Name, string Value) field) => field.Name != "Date";
    }

    [Theory]
    [InlineData("/dir", "dir/")]
    [InlineData("/dir?a=b&c", "dir/?a=b&c")]
    [InlineData("/dir/sub?x=%2F", "sub/?x=%2F")]
    [InlineData("/dir/sub?//evil.example", "sub/?//evil.example")]
    [InlineData("http://b/dir?q", "dir/?q")]
    public async Task A_directory_without_its_slash_is_redirected_relatively_with_its_query(string target, string location)
    {
        Folder.Add("/dir/index.html", SiteFolder.Bytes(9));
        Folder.Add("/dir/sub/index.html", SiteFolder.Bytes(9));
        Wire wire = await (await StartAsync()).ConnectAsync();

        Response response = await wire.GetAsync(target);

        Assert.Equal(308, response.Status);
        Assert.Equal(location, response.Field("Location"));
    }

    [Fact]
    public async Task A_long_query_comes_back_whole_in_the_redirect()
    {
        Folder.Add("/dir/index.html", SiteFolder.Bytes(9));
        Wire wire = await (await StartAsync()).ConnectAsync();
        string query = new('"', 8000);

        Response response = await wire.GetAsync("/dir?" + query);

        Assert.Equal(308, response.Status);
        Assert.Equal("dir/?" + query.Replace("\"", "%22", StringComparison.Ordinal), response.Field("Location"));
    }

    [Theory]
    [InlineData("/none")]
    [InlineData("/f1.bin/")]
    [InlineData("/F1.BIN")]
    [InlineData("/empty/")]
    [InlineData("//f2.bin")]
    [InlineData("/a%2Ff1.bin")]
    [InlineData("/.hidden")]
    public async Task What_is_not_there_is_answered_404_with_a_body_that_says_so(string target)
    {
        Folder.AddSized(1);
        Folder.Add("/.hidden", SiteFolder.Bytes(1));
        Directory.CreateDirectory(Folder.PathOf("/empty"));
        Wire wire = await (await StartAsync()).ConnectAsync();

        Response response = await wire.GetAsync(target);

        Assert.Equal(404, response.Status);
        Assert.Contains("Not Found", response.Text, StringComparison.Ordinal);
        (await wire.GetAsync("/f1.bin")).AssertIsWhole(SiteFolder.Bytes(1));
    }

    [Theory]
    [InlineData("/%zz")]
    [InlineData("/a%00b")]
    [InlineData("/../f1.bin")]
    [InlineData("/%2e%2e/f1.bin")]
    public async Task A_path_that_names_nothing_is_answered_400_and_the_connection_goes_on(string target)
    {
        Folder.AddSized(1);
        Wire wire = await (await StartAsync()).ConnectAsync();

        Assert.Equal(400, (await wire.GetAsync(target)).Status);

        (await wire.GetAsync("/f1.bin")).AssertIsWhole(SiteFolder.Bytes(1));
    }

    [Theory]
    [InlineData("POST", "/f1.bin", 405)]
    [InlineData("PUT", "/none", 405)]
    [InlineData("DELETE", "/f1.bin", 405)]
    [InlineData("TRACE", "/f1.bin", 405)]
    [InlineData("PATCH", "/f1.bin", 405)]
    [InlineData("OPTIONS", "/f1.bin", 204)]
    [InlineData("OPTIONS", "*", 204)]
    [InlineData("BREW", "/f1.bin", 501)]
    [InlineData("get", "/f1.bin", 501)]
    public async Task Other_methods_get_the_list_of_methods(string method, string target, int status)
    {
        Folder.AddSized(1);
        Wire wire = await (await StartAsync()).ConnectAsync();
        await wire.SendAsync($"{method} {target} HTTP/1.1\r\nHost: a\r\n\r\n");

        Response response = await wire.ReadResponseAsync(method);

        Assert.Equal(status, response.Status);
        Assert.Equal(status == 501 ? null : "GET, HEAD, OPTIONS", response.Field("Allow"));
        // RFC 9110, 8.6: a 204 has no Content-Length.
        Assert.Equal(status == 204, response.Field("Content-Length") is null);
        (await wire.GetAsync("/f1.bin")).AssertIsWhole(SiteFolder.Bytes(1));
    }

    [Fact]
    public async Task Every_response_has_the_date_and_it_moves_on()
    {
        Folder.AddSized(1);
        Wire wire = await (await StartAsync()).ConnectAsync();
        DateTime first = await DateOfAsync("/f1.bin");

        DateTime next = first;
        for (int responses = 0; next == first; responses++)
        {
            next = await DateOfAsync(responses % 2 == 0 ? "/none" : "/f1.bin");
        }

        Assert.True(next > first);

        async Task<DateTime> DateOfAsync(string target)
        {
            DateTime before = DateTime.UtcNow;
            string field = (await wire.GetAsync(target)).Field("Date")!;
            var date = DateTime.ParseExact(field, "r", CultureInfo.InvariantCulture);
            Assert.InRange(date, before.AddSeconds(-1.1), DateTime.UtcNow);
            return date;
        }
    }
}
