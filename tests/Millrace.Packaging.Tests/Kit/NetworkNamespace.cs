using System.Net.Sockets;
using System.Runtime.InteropServices;
using Microsoft.Win32.SafeHandles;

namespace Millrace.Packaging.Tests;

/// <summary>
/// The network of another process. A socket belongs to that of the thread that makes it, wherever it is used then: each is made by a thread
/// that enters, and ends.
/// </summary>
internal sealed partial class NetworkNamespace(int process)
{
    /// <summary><c>CLONE_NEWNET</c> of sched.h.</summary>
    private const int Network = 0x40000000;

    public Socket OpenSocket()
    {
        Socket? socket = null;
        string? refusal = null;
        var entering = new Thread(() =>
        {
            using SafeFileHandle there = File.OpenHandle($"/proc/{process}/ns/net", share: FileShare.ReadWrite);
            if (SetNamespace(there, Network) == 0)
            {
                socket = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp) { NoDelay = true };
            }
            else
            {
                refusal = Marshal.GetLastPInvokeErrorMessage();
            }
        });
        entering.Start();
        entering.Join();
        return socket ?? throw new InvalidOperationException($"The network of process {process} cannot be entered: {refusal}.");
    }

    [LibraryImport("libc", EntryPoint = "setns", SetLastError = true)]
    private static partial int SetNamespace(SafeFileHandle file, int kind);
}
