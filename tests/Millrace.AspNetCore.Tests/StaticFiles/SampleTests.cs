using System.Diagnostics;
using System.Net;
using Millrace.AspNetCore.Tests.Kit;
using Millrace.AspNetCore.Tests.StaticFiles.Kit;
using Millrace.Server.Tests.Kit;

namespace Millrace.AspNetCore.Tests.StaticFiles;

public class SampleTests
{
    [Fact]
    public async Task The_static_site_serves_its_folder_and_tells_the_time()
    {
        var start = new ProcessStartInfo(SampleProgram.Of("StaticSite"), [Places.SampleSite]) { RedirectStandardOutput = true };
        start.Environment["ASPNETCORE_URLS"] = "http://127.0.0.1:0";
        using Process process = Process.Start(start)!;
        try
        {
            using var client = new HttpClient { BaseAddress = await AddressAsync(process) };
            Assert.Contains("<html", await client.GetStringAsync(new Uri("/", UriKind.Relative)), StringComparison.Ordinal);
            Assert.EndsWith("GMT", await client.GetStringAsync(new Uri("/api/time", UriKind.Relative)), StringComparison.Ordinal);
            using HttpResponseMessage missing = await client.GetAsync(new Uri("/missing", UriKind.Relative));
            Assert.Equal(HttpStatusCode.NotFound, missing.StatusCode);
            Assert.Equal("text/html", missing.Content.Headers.ContentType!.MediaType);
        }
        finally
        {
            process.Kill();
            await process.WaitForExitAsync();
        }
    }

    private static async Task<Uri> AddressAsync(Process process)
    {
        const string words = "Now listening on: ";
        while (await process.StandardOutput.ReadLineAsync().WaitAsync(HostedApp.Limit) is string line)
        {
            int at = line.IndexOf(words, StringComparison.Ordinal);
            if (at >= 0)
            {
                return new Uri(line[(at + words.Length)..]);
            }
        }

        throw new InvalidOperationException("The sample ended without listening.");
    }
}
