using System.Runtime.InteropServices;
using Millrace.Interop;
using Millrace.Interop.Seccomp;

namespace Millrace.Server.Service;

/// <summary>
/// Programs for seccomp(2). Pure: <see cref="Confinement"/> installs them. What is refused fails with an error and does not end the
/// process, as libraries may try it and do without.
/// </summary>
internal static class CallFilter
{
    /// <summary><c>AUDIT_ARCH_*</c> of <c>linux/audit.h</c>.</summary>
    private const uint AuditX64 = 0xC000_003E;
    private const uint AuditArm64 = 0xC000_00B7;

    /// <summary>From here on x64 has the numbers of another ABI, x32, for the same calls.</summary>
    private const uint FirstX32Number = 0x4000_0000;

    /// <summary><c>CLONE_THREAD</c>: without it the call makes a process.</summary>
    private const uint CloneThread = 0x0001_0000;

    /// <summary>AF_UNIX, AF_INET, AF_INET6, AF_NETLINK (getaddrinfo and the list of this machine's addresses use it).</summary>
    private static readonly uint[] SocketFamilies = [1, 2, 10, 16];

    /// <summary>Lets everything pass, at no cost since the kernel knows so: it carries no_new_privs to all threads.</summary>
    public static FilterInstruction[] Nothing => [Return(FilterVerdict.Allow)];

    /// <summary>Refuses what a server that serves has no use for.</summary>
    public static FilterInstruction[] Build(Architecture architecture)
    {
        bool isX64 = architecture == Architecture.X64;
        (uint clone, uint clone3, uint socket) = isX64 ? (56u, 435u, 41u) : (220u, 435u, 198u);
        var program = new List<FilterInstruction>
        {
            // Of any other architecture the numbers would mean something else.
            Load(FilterData.Architecture),
            IfEqual(isX64 ? AuditX64 : AuditArm64, skip: 1),
            Return(FilterVerdict.KillProcess),
            Load(FilterData.Number),
        };
        if (isX64)
        {
            program.Add(new FilterInstruction(FilterCode.IfAtLeast, 0, 1, FirstX32Number));
            program.Add(Fail(Errno.ENOSYS));
        }

        AddOnFirstArgument(program, clone,
        [
            new FilterInstruction(FilterCode.IfHas, 1, 0, CloneThread),
            Fail(Errno.EPERM),
            Return(FilterVerdict.Allow),
        ]);

        // Its flags lie in memory, where no filter sees them. Libraries take to clone where they are told that there is none.
        AddVerdict(program, clone3, Fail(Errno.ENOSYS));
        AddOnFirstArgument(program, socket,
        [
            .. SocketFamilies.Select((family, i) => IfEqual(family, skip: SocketFamilies.Length - i)),
            Fail(Errno.EAFNOSUPPORT),
            Return(FilterVerdict.Allow),
        ]);
        foreach (uint number in RefusedCall.All.Select(call => isX64 ? call.X64 : call.Arm64).OfType<uint>())
        {
            AddVerdict(program, number, Fail(Errno.EPERM));
        }

        program.Add(Return(FilterVerdict.Allow));
        return [.. program];
    }

    /// <summary>What decides on one call by its first argument, with a verdict in each case: the number is loaded no more.</summary>
    private static void AddOnFirstArgument(List<FilterInstruction> program, uint number, FilterInstruction[] decision)
    {
        program.Add(new FilterInstruction(FilterCode.IfEqual, 0, (byte)(decision.Length + 1), number));
        program.Add(Load(FilterData.FirstArgument));
        program.AddRange(decision);
    }

    private static void AddVerdict(List<FilterInstruction> program, uint number, FilterInstruction verdict)
    {
        program.Add(new FilterInstruction(FilterCode.IfEqual, 0, 1, number));
        program.Add(verdict);
    }

    private static FilterInstruction Load(uint offset) => new(FilterCode.Load, 0, 0, offset);

    private static FilterInstruction IfEqual(uint value, int skip) => new(FilterCode.IfEqual, (byte)skip, 0, value);

    private static FilterInstruction Return(uint verdict) => new(FilterCode.Return, 0, 0, verdict);

    private static FilterInstruction Fail(int errno) => Return(FilterVerdict.Fail | (uint)errno);
}
