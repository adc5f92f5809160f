using System.Runtime.InteropServices;

namespace Millrace.Interop.Users;

/// <summary>
/// The user and groups of the process, by libc's wrappers: the system calls change one thread only, the wrappers all threads of the process
/// (nptl(7)). Each returns the wrapper's result, or -errno.
/// </summary>
internal static unsafe partial class UserCalls
{
    /// <summary>Buffer for an entry of passwd(5) or group(5): sysconf suggests 1 KiB, groups with many members need more.</summary>
    private const int EntryBytes = 64 * 1024;

    private const int SetNoNewPrivilegesOption = 38;

    public static uint UserId => geteuid();

    public static uint GroupId => getegid();

    public static int SetGroups(ReadOnlySpan<uint> groups) => SystemCall.Result(setgroups((nuint)groups.Length, groups));

    /// <summary>Sets the real, effective and saved group: irreversible.</summary>
    public static int SetGroupId(uint group) => SystemCall.Result(setresgid(group, group, group));

    /// <summary>Sets the real, effective and saved user: irreversible; coming from 0, all capabilities are lost.</summary>
    public static int SetUserId(uint user) => SystemCall.Result(setresuid(user, user, user));

    /// <summary>Programs executed from now on get no more rights than this thread has (<c>PR_SET_NO_NEW_PRIVS</c>).</summary>
    public static int SetNoNewPrivileges() => SystemCall.Result(prctl(SetNoNewPrivilegesOption, 1, 0, 0, 0));

    /// <summary>Looks up a user by name or number in the system's user database: 1, 0 if there is none, or -errno.</summary>
    /// <param name="name">A name, or a decimal number.</param>
    /// <param name="user">The user's number.</param>
    /// <param name="group">The number of the user's primary group.</param>
    /// <param name="userName">The user's name, as group entries list it.</param>
    public static int FindUser(string name, out uint user, out uint group, out string userName)
    {
        userName = "";
        byte[] buffer = new byte[EntryBytes];
        PasswordEntry entry;
        PasswordEntry* found = null;
        int error;
        fixed (byte* text = CString.Of(name), pointer = buffer)
        {
            error = uint.TryParse(name, out uint number)
                ? getpwuid_r(number, &entry, pointer, EntryBytes, &found)
                : getpwnam_r(text, &entry, pointer, EntryBytes, &found);
            if (found is not null)
            {
                // The name points into the buffer.
                userName = Marshal.PtrToStringUTF8((nint)entry.Name) ?? "";
            }
        }

        (user, group) = found is null ? (0, 0) : (entry.User, entry.Group);
        return Result(error, found);
    }

    /// <summary>Looks up a group by name or number: 1, 0 if there is none, or -errno.</summary>
    public static int FindGroup(string name, out uint group)
    {
        byte[] buffer = new byte[EntryBytes];
        GroupEntry entry;
        GroupEntry* found = null;
        int error;
        fixed (byte* text = CString.Of(name), pointer = buffer)
        {
            error = uint.TryParse(name, out uint number)
                ? getgrgid_r(number, &entry, pointer, EntryBytes, &found)
                : getgrnam_r(text, &entry, pointer, EntryBytes, &found);
        }

        group = found is null ? 0 : entry.Group;
        return Result(error, found);
    }

    /// <summary>The groups of a user, by name, including <paramref name="group"/>.</summary>
    public static uint[] GroupsOf(string name, uint group)
    {
        int count = 32;
        while (true)
        {
            uint[] groups = new uint[count];
            // If they do not fit, the count is set to the number needed.
            if (getgrouplist(CString.Of(name), group, groups, ref count) >= 0)
            {
                return groups[..count];
            }

            count = Math.Max(count, groups.Length * 2);
        }
    }

    /// <summary>getpwnam_r(3): these errors, and 0, may all mean that there is no such name.</summary>
    private static int Result(int error, void* found) =>
        error is not (0 or Errno.ENOENT or Errno.EBADF or Errno.EPERM or Errno.ESRCH) ? -error : found is null ? 0 : 1;

    [LibraryImport("libc")]
    private static partial uint geteuid();

    [LibraryImport("libc")]
    private static partial uint getegid();

    [LibraryImport("libc")]
    private static partial int setgroups(nuint count, ReadOnlySpan<uint> groups);

    [LibraryImport("libc")]
    private static partial int setresgid(uint real, uint effective, uint saved);

    [LibraryImport("libc")]
    private static partial int setresuid(uint real, uint effective, uint saved);

    [LibraryImport("libc")]
    private static partial int prctl(int option, nuint a, nuint b, nuint c, nuint d);

    [LibraryImport("libc")]
    private static partial int getpwnam_r(byte* name, PasswordEntry* entry, byte* buffer, nuint bytes, PasswordEntry** found);

    [LibraryImport("libc")]
    private static partial int getpwuid_r(uint user, PasswordEntry* entry, byte* buffer, nuint bytes, PasswordEntry** found);

    [LibraryImport("libc")]
    private static partial int getgrnam_r(byte* name, GroupEntry* entry, byte* buffer, nuint bytes, GroupEntry** found);

    [LibraryImport("libc")]
    private static partial int getgrgid_r(uint group, GroupEntry* entry, byte* buffer, nuint bytes, GroupEntry** found);

    [LibraryImport("libc")]
    private static partial int getgrouplist(ReadOnlySpan<byte> name, uint group, Span<uint> groups, ref int count);

    /// <summary><c>struct passwd</c>.</summary>
    [StructLayout(LayoutKind.Sequential)]
    private struct PasswordEntry
    {
        public byte* Name;
        public byte* Password;
        public uint User;
        public uint Group;
        public byte* Comment;
        public byte* Home;
        public byte* Shell;
    }

    /// <summary><c>struct group</c>.</summary>
    [StructLayout(LayoutKind.Sequential)]
    private struct GroupEntry
    {
        public byte* Name;
        public byte* Password;
        public uint Group;
        public byte** Members;
    }
}
