using System.Globalization;
using System.Text;
using Microsoft.Win32.SafeHandles;
using Millrace.Interop;
using Millrace.Interop.Files;
using Millrace.Interop.Users;
using Millrace.StaticFiles.Compression;
using Millrace.StaticFiles.Scanning;
using Millrace.StaticFiles.Snapshots;

namespace Millrace.StaticFiles.Dictionaries;

/// <summary>
/// The files of a <see cref="DictionaryHistory"/>: a line with the family, then the bytes. The name is the hash of both, so that a file
/// which was cut or changed is noticed when it is read. Written under another name and renamed, so that several servers may share a folder.
/// Files with other names, of other users and what is not a regular file are left alone, and never waited for. One thread. Throws
/// <see cref="IOException"/> and <see cref="UnauthorizedAccessException"/>, also if others than this user may write the folder.
/// </summary>
internal sealed class DictionaryFolder(string folder)
{
    private const string Extension = ".dict";
    private const string TemporaryExtension = ".dict-new";
    private const int FamilyHashCharacters = 16;
    private const int HashCharacters = 2 * DictionaryHash.Bytes;

    private const UnixFileMode Private = UnixFileMode.UserRead | UnixFileMode.UserWrite | UnixFileMode.UserExecute;

    private static readonly TimeSpan TemporaryAge = TimeSpan.FromHours(1);

    private static ReadOnlySpan<byte> Magic => "millrace dictionary 1 "u8;

    /// <summary>More than the line takes: a family has up to 512 characters.</summary>
    private const int LineBytesMax = 600;

    /// <summary>Opens a file: a descriptor or -errno.</summary>
    public OpenFile Open { private get; init; } = FileContent.Open;

    /// <summary>
    /// The dictionaries of the folder, with the time when each was last a file of the site. Those known by name are not read. Of more than
    /// the given number, the others are deleted: first those that are not known, the longest gone of them first. So are those that are too
    /// short or too long for any.
    /// </summary>
    public List<StoredDictionary> List(IReadOnlyDictionary<string, string> familiesByName, int filesMax, TimeProvider clock)
    {
        var found = new List<StoredDictionary>();
        if (!Directory.Exists(folder))
        {
            return found;
        }

        RequireSafe();
        var named = new List<(string Name, DictionaryHash Hash, Statx State)>();
        foreach (string path in Directory.EnumerateFiles(folder))
        {
            string name = Path.GetFileName(path);
            if (name.EndsWith(TemporaryExtension, StringComparison.Ordinal))
            {
                DeleteOld(path, clock);
            }
            else if (TryParse(name, out DictionaryHash hash) && TryStat(path, out Statx state))
            {
                named.Add((name, hash, state));
            }
        }

        IEnumerable<(string Name, DictionaryHash Hash, Statx State)> kept = named.Count <= filesMax ? named
            : named.OrderByDescending(one => familiesByName.ContainsKey(one.Name))
                .ThenByDescending(static one => one.State.ModifiedAt.ToUnixNs());
        foreach ((string name, DictionaryHash hash, Statx state) in kept)
        {
            if ((familiesByName.GetValueOrDefault(name) ?? FamilyOf(name)) is not { } family || NameOf(family, hash) != name)
            {
                continue;
            }

            DateTime seenAt = DateTime.UnixEpoch.AddTicks(state.ModifiedAt.ToUnixNs() / TimeSpan.NanosecondsPerTick);
            var one = new StoredDictionary(family, hash, (long)state.SizeBytes - LineBytes(family), seenAt);
            if (found.Count < filesMax && MayBeWhole(state, family))
            {
                found.Add(one);
            }
            else
            {
                Delete(one);
            }
        }

        return found;
    }

    public void Write(string family, in DictionaryHash hash, ReadOnlySpan<byte> bytes)
    {
#pragma warning disable CA1416 // Millrace runs only on Linux.
        Directory.CreateDirectory(folder, Private);
        RequireSafe();
        string path = PathOf(family, hash);
        string temporary = string.Create(CultureInfo.InvariantCulture, $"{path}-{KernelRandom.NextUInt64():x16}{TemporaryExtension}");
        try
        {
            var options = new FileStreamOptions
            {
                Mode = FileMode.CreateNew,
                Access = FileAccess.Write,
                UnixCreateMode = UnixFileMode.UserRead | UnixFileMode.UserWrite,
                BufferSize = 0,
            };
#pragma warning restore CA1416
            using (var stream = new FileStream(temporary, options))
            {
                stream.Write([.. Magic, .. Encoding.ASCII.GetBytes(family), (byte)'\n']);
                stream.Write(bytes);
            }

            File.Move(temporary, path, overwrite: true);
        }
        catch
        {
            // What is left of it would fill the disk. If it cannot be deleted now, a later listing tries again.
            TryDelete(temporary);
            throw;
        }
    }

    /// <summary>
    /// The bytes; null if there is no such file, or its content is not what its name says: then it is deleted. An error that says nothing
    /// about the content, as too many open files do, is thrown.
    /// </summary>
    public byte[]? Read(StoredDictionary dictionary)
    {
        int fd = OpenOurs(NameOf(dictionary.Family, dictionary.Hash), out Statx state);
        if (fd < 0)
        {
            return fd == -Errno.ENOENT ? null : throw Failed(fd);
        }

        using var handle = new SafeFileHandle(fd, ownsHandle: true);
        int lineBytes = LineBytes(dictionary.Family);
        bool isWhole = MayBeWhole(state, dictionary.Family) && state.SizeBytes == (ulong)(lineBytes + dictionary.Bytes);
        byte[] bytes = new byte[isWhole ? dictionary.Bytes : 0];
        int read = isWhole ? FileContent.Read(fd, bytes, lineBytes) : 0;
        if (read < 0)
        {
            throw Failed(read);
        }

        if (isWhole && read == bytes.Length && DictionaryHash.Of(bytes) == dictionary.Hash)
        {
            return bytes;
        }

        Delete(dictionary);
        return null;
    }

    /// <summary>Notes when a dictionary was last a file of the site.</summary>
    public void Touch(StoredDictionary dictionary, DateTime at)
    {
        try
        {
            File.SetLastWriteTimeUtc(PathOf(dictionary.Family, dictionary.Hash), at);
        }
        catch (Exception error) when (error is FileNotFoundException or DirectoryNotFoundException)
        {
            // Deleted meanwhile, as the next look or read shows.
        }
    }

    public void Delete(StoredDictionary dictionary) => TryDelete(PathOf(dictionary.Family, dictionary.Hash));

    public static string NameOf(string family, in DictionaryHash hash)
    {
        string familyHash = DictionaryHash.Of(Encoding.ASCII.GetBytes(family)).ToHex()[..FamilyHashCharacters];
        return $"{hash.ToHex()}-{familyHash}{Extension}";
    }

    private string PathOf(string family, in DictionaryHash hash) => Path.Combine(folder, NameOf(family, hash));

    private static bool TryParse(string name, out DictionaryHash hash)
    {
        Span<byte> bytes = stackalloc byte[DictionaryHash.Bytes];
        bool isName = name.Length == HashCharacters + 1 + FamilyHashCharacters + Extension.Length
            && name.EndsWith(Extension, StringComparison.Ordinal)
            && Convert.FromHexString(name.AsSpan(0, HashCharacters), bytes, out _, out int written) == System.Buffers.OperationStatus.Done
            && written == DictionaryHash.Bytes;
        hash = isName ? DictionaryHash.Read(bytes) : default;
        return isName;
    }

    /// <summary>The family in the first line; null if there is none, or it cannot be read now.</summary>
    private string? FamilyOf(string name)
    {
        int fd = OpenOurs(name, out _);
        if (fd < 0)
        {
            return null;
        }

        using var handle = new SafeFileHandle(fd, ownsHandle: true);
        Span<byte> line = stackalloc byte[LineBytesMax];
        line = line[..Math.Max(FileContent.Read(fd, line), 0)];
        int end = line.IndexOf((byte)'\n');
        return line.StartsWith(Magic) && end > Magic.Length && Ascii.IsValid(line[..end])
            ? Encoding.ASCII.GetString(line[Magic.Length..end])
            : null;
    }

    /// <summary>
    /// Opens a file of this user: a descriptor or -errno, ENOENT also for what is none. Without O_NONBLOCK, a FIFO would block the thread
    /// indefinitely.
    /// </summary>
    private int OpenOurs(string name, out Statx state)
    {
        int fd = Open(CString.Of(Path.Combine(folder, name)), OpenFlags.ReadOnly | OpenFlags.NoFollow | OpenFlags.NonBlock);
        state = default;
        if (fd < 0)
        {
            return fd is -Errno.ELOOP or -Errno.ENXIO or -Errno.ENOTDIR ? -Errno.ENOENT : fd;
        }

        int result = FileCalls.StatDescriptor(fd, Wanted, out state);
        if (result == 0 && IsOurs(state))
        {
            return fd;
        }

        _ = FileCalls.Close(fd);
        return result < 0 ? result : -Errno.ENOENT;
    }

    private const StatxMask Wanted = StatxMask.Type | StatxMask.Size | StatxMask.ModifiedAt | StatxMask.UserId;

    private static bool TryStat(string path, out Statx state) =>
        FileCalls.StatEntry(FileCalls.WorkingDirectory, CString.Of(path), Wanted, out state) == 0 && IsOurs(state);

    private static bool IsOurs(in Statx state) => state.Type == FileType.Regular && IsOursOrRoots(state.UserId);

    private static bool IsOursOrRoots(uint user) => user == UserCalls.UserId || user == 0;

    /// <summary>
    /// Throws if others could put files of their own in the place of this user's. In a folder with the sticky bit they cannot. A folder of
    /// this user is made private again: Kubernetes lets a group write all of a volume at each mount.
    /// </summary>
    private void RequireSafe()
    {
        int result = FileCalls.StatPath(FileCalls.WorkingDirectory, CString.Of(folder), Wanted, out Statx state);
        if (result < 0)
        {
            throw Failed(result);
        }

        if (!IsOursOrRoots(state.UserId))
        {
            throw new UnauthorizedAccessException($"It belongs to the user {state.UserId}: run 'chown' on it, or name another folder.");
        }

        if (OthersMayReplace(state) && !(state.UserId == UserCalls.UserId && TryMakePrivate()))
        {
            throw new UnauthorizedAccessException($"Other users can write to it: run 'chmod go-w {folder}'.");
        }
    }

    private static bool OthersMayReplace(in Statx state)
    {
        const int OthersMayWrite = 0x12;
        const int Sticky = 0x200;
        return (state.Mode & OthersMayWrite) != 0 && (state.Mode & Sticky) == 0;
    }

    /// <summary>By a descriptor and not by a link, as somebody else may put another folder of this user in its place.</summary>
    private bool TryMakePrivate()
    {
        int fd = FileContent.Open(CString.Of(folder), OpenFlags.ReadOnly | OpenFlags.Directory | OpenFlags.NoFollow);
        if (fd < 0)
        {
            return false;
        }

        using var handle = new SafeFileHandle(fd, ownsHandle: true);
        try
        {
#pragma warning disable CA1416 // Millrace runs only on Linux.
            File.SetUnixFileMode(handle, Private);
#pragma warning restore CA1416
        }
        catch (Exception error) when (error is IOException or UnauthorizedAccessException)
        {
            return false;
        }

        return FileCalls.StatDescriptor(fd, Wanted, out Statx state) == 0
            && state.UserId == UserCalls.UserId
            && !OthersMayReplace(state);
    }

    private static int LineBytes(string family) => Magic.Length + family.Length + 1;

    private static bool MayBeWhole(in Statx state, string family) =>
        state.SizeBytes >= (ulong)LineBytes(family) && state.SizeBytes <= (ulong)(LineBytes(family) + BodyCoder.BytesMax);

    private static IOException Failed(int error) => new($"{Errno.Describe(-error)}.", -error);

    private static void DeleteOld(string path, TimeProvider clock)
    {
        if (clock.GetUtcNow().UtcDateTime - File.GetLastWriteTimeUtc(path) > TemporaryAge)
        {
            TryDelete(path);
        }
    }

    private static void TryDelete(string path)
    {
        try
        {
            File.Delete(path);
        }
        catch (Exception error) when (error is IOException or UnauthorizedAccessException)
        {
            // It is tried again when the history is trimmed next.
        }
    }
}

/// <summary>Opens what a path leads to, with flags of <see cref="OpenFlags"/>: a descriptor or -errno.</summary>
internal delegate int OpenFile(ReadOnlySpan<byte> pathZ, ulong flags);

/// <summary>
/// A dictionary of the history: its family, the hash and the number of its bytes, and when it was last a file of the site.
/// </summary>
internal sealed record StoredDictionary(string Family, DictionaryHash Hash, long Bytes, DateTime LastSeen)
{
    /// <summary>The bytes, if no folder has them.</summary>
    public byte[]? InMemory { get; init; }

    /// <summary>Whether the site has this file now.</summary>
    public bool IsCurrent { get; init; }
}
