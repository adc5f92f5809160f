using System.Runtime.Versioning;
using System.Text;
using Millrace.Server.Tests.Kit;

namespace Millrace.Server.Tests;

/// <summary>A file that the server's user may not read is a 404 that the log explains: whoever put it there sees it as root.</summary>
[SupportedOSPlatform("linux")]
public sealed class UnreadableFileTests : IDisposable
{
    private const UnixFileMode OwnersOnly = UnixFileMode.UserRead | UnixFileMode.UserWrite;

    private readonly TempFolder _folder = ServedFolder.Make();

    public void Dispose() => _folder.Dispose();

    [Fact]
    public async Task A_file_that_root_alone_may_read_is_named_once_with_the_user_and_the_remedy_and_again_when_it_can_be_read()
    {
        Nobody.RequireRoot();
        _folder.WriteText("old.html", "o");
        File.SetUnixFileMode(_folder.PathOf("old.html"), OwnersOnly);
        await using ServerProcess server = await ServeAsync();

        await server.AwaitErrorAsync("/old.html of ");
        _folder.WriteText("new.html", "n");
        File.SetUnixFileMode(_folder.PathOf("new.html"), OwnersOnly);
        await server.AwaitErrorAsync("/new.html of ");
        Assert.Equal(404, Wire.Get(server.Url, "/new.html").Status);
        File.SetUnixFileMode(_folder.PathOf("new.html"), Nobody.ForAll);

        await server.AwaitErrorAsync($"/new.html of {_folder.Root} can be read again.");
        Assert.Equal("n", Encoding.UTF8.GetString(Wire.Get(server.Url, "/new.html").Body));
        const string Refused = "cannot be read by this server's user (uid 65534";
        Assert.Equal(1, server.CountErrors($"/new.html of {_folder.Root} {Refused}"));
        Assert.Equal(1, server.CountErrors($"/old.html of {_folder.Root} {Refused}"));
        Assert.Equal(2, server.CountErrors("'chmod o+r' for a file"));
    }

    [Fact]
    public async Task A_directory_that_is_closed_while_it_is_served_is_named_too()
    {
        Nobody.RequireRoot();
        Directory.CreateDirectory(_folder.PathOf("d"), Nobody.ForAll);
        _folder.WriteText("d/f.txt", "f");
        await using ServerProcess server = await ServeAsync();
        Assert.Equal(200, Wire.Get(server.Url, "/d/f.txt").Status);

        File.SetUnixFileMode(_folder.PathOf("d"), UnixFileMode.UserRead | UnixFileMode.UserExecute);
        await server.AwaitErrorAsync($"/d of {_folder.Root} cannot be read by this server's user");
        await Wire.AwaitAsync(server.Url, "/d/f.txt", static response => response.Status == 404);
        File.SetUnixFileMode(_folder.PathOf("d"), Nobody.ForAll);

        await server.AwaitErrorAsync($"/d of {_folder.Root} can be read again.");
        await Wire.AwaitAsync(server.Url, "/d/f.txt", static response => response.Status == 200);
    }

    private Task<ServerProcess> ServeAsync() =>
        ServerProcess.StartAsync(_folder.Root, "--listen", "127.0.0.1:0", "--user", Nobody.UserAndGroup);
}
