#if !DEBUG
using System.Runtime.InteropServices;
using Microsoft.Win32.SafeHandles;
using Millrace.Engine.Tests.Wire.Kit;
using AllocationRounds = Millrace.Engine.Tests.Kit.AllocationRounds;

namespace Millrace.Engine.Tests.Wire.Allocations;

/// <summary>Nothing is allocated per request once a connection is warm. (Debug builds record each lent block.)</summary>
public class AllocationTests : EngineTest
{
    [Theory]
    [InlineData("write")]
    [InlineData("reference")]
    [InlineData("file by handle")]
    [InlineData("file by descriptor")]
    public async Task A_request_allocates_nothing_on_its_reactor(string answer)
    {
        using var folder = new TempFolder();
        using SafeFileHandle file = File.OpenHandle(folder.File("file", new byte[1_000]));
        byte[] memory = GC.AllocateArray<byte>(1_000, pinned: true);
        var rounds = new AllocationRounds(4_000);
        TestServer server = await Serve(async connection =>
        {
            while (await connection.ReadAsync() == ReadOutcome.Data)
            {
                rounds.NoteRequest();
                connection.Consume(connection.Input.Length);
                switch (answer)
                {
                    case "write":
                        connection.Write(memory);
                        break;
                    case "reference":
                        Reference(connection, memory);
                        break;
                    case "file by handle":
                        await connection.ReadFileAsync(file, 0, 1_000);
                        break;
                    default:
                        await connection.ReadFileAsync((int)file.DangerousGetHandle(), 0, 1_000);
                        break;
                }

                await connection.FlushAsync();
            }
        });
        TestClient client = await server.Connect();
        byte[] buffer = new byte[1_000];
        for (int i = 0; i <= rounds.Requests; i++)
        {
            client.Socket.Send([1]);
            for (int received = 0; received < buffer.Length;)
            {
                received += client.Socket.Receive(buffer);
            }
        }

        client.Finish();
        Assert.Empty(await client.ReceiveToEnd());
        Assert.Equal(0, rounds.Least);
    }

    private static unsafe void Reference(Connection connection, byte[] pinned) =>
        connection.WriteReference((byte*)Marshal.UnsafeAddrOfPinnedArrayElement(pinned, 0), pinned.Length);
}
#endif
