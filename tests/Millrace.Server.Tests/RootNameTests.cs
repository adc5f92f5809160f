using System.Text;
using Millrace.Server.Tests.Kit;

namespace Millrace.Server.Tests;

/// <summary>A root is served by whatever name it has: another folder in its place would be a disclosure.</summary>
public class RootNameTests
{
    [Theory]
    [InlineData("millrace")]
    [InlineData("millrace.dll")]
    [InlineData("check")]
    [InlineData("@files")]
    [InlineData("[suggest]")]
    public async Task What_is_named_is_served(string name)
    {
        using var folder = new TempFolder();
        Directory.CreateDirectory(folder.PathOf(name));
        File.WriteAllText(folder.PathOf($"{name}/whose.txt"), name);

        await using ServerProcess server = await ServerProcess.StartAsync(folder.PathOf(name), "--listen", "127.0.0.1:0");

        Assert.Equal(name, Encoding.UTF8.GetString(Wire.Get(server.Url, "/whose.txt").Body));
    }
}
