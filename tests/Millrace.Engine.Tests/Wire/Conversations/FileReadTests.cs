using Microsoft.Win32.SafeHandles;
using Millrace.Engine.Tests.Wire.Kit;

namespace Millrace.Engine.Tests.Wire.Conversations;

public sealed class FileReadTests : EngineTest
{
    private const int EBadF = 9;
    private const int EIsDir = 21;

    private readonly TempFolder _folder = new();

    public override async ValueTask DisposeAsync()
    {
        _folder.Dispose();
        await base.DisposeAsync();
    }

    [Theory]
    [InlineData(0)]
    [InlineData(1)]
    [InlineData(40_000)]
    [InlineData(1_000_000)]
    public async Task A_file_goes_into_the_middle_of_the_output(int bytes)
    {
        using SafeFileHandle file = File.OpenHandle(_folder.File("file", Pattern.Bytes(1, bytes)));
        TestServer server = await Serve(async connection =>
        {
            connection.Write("<"u8);
            Assert.Equal(bytes, await connection.ReadFileAsync(file, 0, bytes + 1));
            connection.Write(">"u8);
        });
        TestClient client = await server.Connect();
        byte[] response = await client.ReceiveToEnd();
        Assert.Equal(bytes + 2, response.Length);
        Assert.Equal((byte)'<', response[0]);
        Assert.Equal((byte)'>', response[^1]);
        Pattern.Check(response.AsSpan(1, bytes), 1);
        Assert.Empty(Log.Failures);
    }

    [Fact]
    public async Task A_file_on_tmpfs_is_read_in_chunks()
    {
        const int Bytes = 700_000;
        string path = Path.Combine("/dev/shm", Path.GetRandomFileName());
        await File.WriteAllBytesAsync(path, Pattern.Bytes(2, Bytes));
        using SafeFileHandle file = File.OpenHandle(path, options: FileOptions.DeleteOnClose);
        TestServer server = await Serve(async connection =>
        {
            int count;
            for (long position = 0; (count = await connection.ReadFileAsync(file, position, 100_000)) > 0; position += count)
            {
                await connection.FlushAsync();
            }
        });
        TestClient client = await server.Connect();
        byte[] response = await client.ReceiveToEnd();
        Assert.Equal(Bytes, response.Length);
        Pattern.Check(response, 2);
    }

    [Fact]
    public async Task Errors_are_io_exceptions_with_the_errno_and_the_connection_goes_on()
    {
        using SafeFileHandle file = File.OpenHandle(_folder.File("file", [1, 2, 3]));
        int folder = Interop.Files.FileCalls.OpenAt2(
            Interop.Files.FileCalls.WorkingDirectory, "/\0"u8, new Interop.Files.OpenHow { Flags = Interop.Files.OpenFlags.CloseOnExec });
        TestServer server = await Serve(async connection =>
        {
            connection.Write("a"u8);
            Assert.Equal(EBadF, (await Assert.ThrowsAsync<IOException>(() => connection.ReadFileAsync(-1, 0, 10).AsTask())).HResult);
            Assert.Equal(EIsDir, (await Assert.ThrowsAsync<IOException>(() => connection.ReadFileAsync(folder, 0, 10).AsTask())).HResult);
            Assert.Equal(0, await connection.ReadFileAsync(file, 3, 10));
            connection.Write("b"u8);
        });
        TestClient client = await server.Connect();
        Assert.Equal("ab"u8.ToArray(), await client.ReceiveToEnd());
        Assert.Empty(Log.Failures);
        Assert.Equal(0, Interop.Files.FileCalls.Close(folder));
    }

    [Fact]
    public async Task The_output_is_closed_to_writers_while_a_file_is_read_into_it()
    {
        using SafeFileHandle file = File.OpenHandle(_folder.File("file", [1, 2, 3]));
        TestServer server = await Serve(async connection =>
        {
            ValueTask<int> read = connection.ReadFileAsync(file, 0, 3);
            Assert.Throws<InvalidOperationException>(() => connection.Write([9]));
            Assert.Throws<InvalidOperationException>(() => connection.GetSpan());
            await Assert.ThrowsAsync<InvalidOperationException>(() => connection.ReadFileAsync(file, 0, 3).AsTask());
            connection.Flush();
            await read;
        });
        TestClient client = await server.Connect();
        Assert.Equal([1, 2, 3], await client.ReceiveToEnd());
        Assert.Empty(Log.Failures);
    }

    [Fact]
    public async Task A_read_that_the_handler_did_not_await_is_still_sent()
    {
        int file = Open(_folder.File("file", Pattern.Bytes(3, 100_000)));
        TestServer server = await Serve(connection =>
        {
            connection.Write([1]);
            _ = connection.ReadFileAsync(file, 0, 100_000);
            return Task.CompletedTask;
        });
        TestClient client = await server.Connect();
        byte[] response = await client.ReceiveToEnd();
        Pattern.Check(response.AsSpan(1), 3);
        Assert.Equal(100_001, response.Length);
        client.Dispose();
        await server.Emptied();
        Assert.Equal(0, Interop.Files.FileCalls.Close(file));
    }

    [Fact]
    public async Task An_abort_ends_a_read_that_would_wait_for_good()
    {
        var outcome = new TaskCompletionSource<Exception?>();
        Connection? served = null;
        // Nobody ever signals the event, so the read never ends by itself.
        int file = Interop.Sockets.SocketCalls.EventDescriptor();
        TestServer server = await Serve(async connection =>
        {
            served = connection;
            connection.Reactor.Post(static state => ((Connection)state!).Abort(), connection);
            outcome.SetResult(await Record.ExceptionAsync(() => connection.ReadFileAsync(file, 0, 8).AsTask()));
        });
        await server.ExpectReset([1]);
        Assert.IsType<IOException>(await outcome.Task.WaitAsync(Patience));
        await server.Emptied();
        Assert.Equal(0, Interop.Files.FileCalls.Close(file));
    }

    private static int Open(string path) => Interop.Files.FileCalls.OpenAt2(
        Interop.Files.FileCalls.WorkingDirectory,
        System.Text.Encoding.UTF8.GetBytes(path + "\0"),
        new Interop.Files.OpenHow { Flags = Interop.Files.OpenFlags.CloseOnExec });
}
