using System.Buffers;
using System.Globalization;
using System.IO.Pipelines;
using System.Net;
using System.Runtime.InteropServices;
using System.Text;
using Millrace.Engine;

namespace Millrace.Fronts;

/// <summary>
/// A handler over PipeReader and PipeWriter: it finds each request's end and target, and writes that file's answer, which was made
/// at the start, date included, as in bench/limit. What it costs is what the pipes cost.
/// </summary>
internal sealed class PipeFront
{
    private const int TargetMax = 256;
    private const int FileMax = 1024 * 1024;
    private static readonly byte[] NotFound = "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"u8.ToArray();

    private readonly Dictionary<string, byte[]>.AlternateLookup<ReadOnlySpan<char>> _responses;

    private PipeFront(Dictionary<string, byte[]> responses) => _responses = responses.GetAlternateLookup<ReadOnlySpan<char>>();

    public static async Task ServeAsync(int port, string root)
    {
        var front = new PipeFront(Load(root));
        await using ReactorGroup group = await ReactorGroup.StartAsync(new EngineOptions());
        await group.ListenAsync(new IPEndPoint(IPAddress.Loopback, port), front.ServeAsync);
        var stop = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        using var onTerminate = PosixSignalRegistration.Create(PosixSignal.SIGTERM, signal =>
        {
            signal.Cancel = true;
            stop.TrySetResult();
        });
        await stop.Task;
        await group.StopAsync(drain: TimeSpan.FromSeconds(1));
    }

    private static Dictionary<string, byte[]> Load(string root)
    {
        var responses = new Dictionary<string, byte[]>(StringComparer.Ordinal);
        foreach (FileInfo file in new DirectoryInfo(root).EnumerateFiles().Where(static file => file.Length <= FileMax))
        {
            string head = string.Create(
                CultureInfo.InvariantCulture,
                $"HTTP/1.1 200 OK\r\nDate: {DateTime.UtcNow:R}\r\nContent-Type: text/plain\r\nContent-Length: {file.Length}\r\n\r\n");
            responses[$"/{file.Name}"] = [.. Encoding.ASCII.GetBytes(head), .. File.ReadAllBytes(file.FullName)];
        }

        return responses;
    }

    private async Task ServeAsync(Connection connection)
    {
        IDuplexPipe pipe = connection.AsDuplexPipe();
        ReadResult read;
        do
        {
            read = await pipe.Input.ReadAsync();
            ReadOnlySequence<byte> rest = read.Buffer;
            while (TryTakeHead(ref rest, out byte[] response))
            {
                pipe.Output.Write(response);
            }

            pipe.Input.AdvanceTo(rest.Start, rest.End);
            await pipe.Output.FlushAsync();
        }
        while (!read.IsCompleted);
    }

    private bool TryTakeHead(ref ReadOnlySequence<byte> rest, out byte[] response)
    {
        var reader = new SequenceReader<byte>(rest);
        response = NotFound;
        if (!reader.TryReadTo(out ReadOnlySequence<byte> head, "\r\n\r\n"u8))
        {
            return false;
        }

        rest = reader.UnreadSequence;
        response = Find(head);
        return true;
    }

    private byte[] Find(ReadOnlySequence<byte> head)
    {
        var words = new SequenceReader<byte>(head);
        Span<char> name = stackalloc char[TargetMax];
        if (!words.TryReadTo(out ReadOnlySequence<byte> method, (byte)' ') || method.Length != 3
            || !words.TryReadTo(out ReadOnlySequence<byte> target, (byte)' ') || target.Length > TargetMax)
        {
            return NotFound;
        }

        int count = Encoding.ASCII.GetChars(target, name);
        return _responses.TryGetValue(name[..count], out byte[]? found) ? found : NotFound;
    }
}
