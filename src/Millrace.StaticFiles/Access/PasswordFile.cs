using System.Buffers.Binary;
using System.Security.Cryptography;
using Microsoft.Win32.SafeHandles;
using Millrace.Interop;
using Millrace.Interop.Crypt;
using Millrace.Interop.Files;
using Millrace.StaticFiles.Scanning;
using Millrace.StaticFiles.Snapshots;

namespace Millrace.StaticFiles.Access;

/// <summary>
/// A file of users and password hashes, and the last table read from it. If the file becomes unreadable or invalid, the last table stays.
/// Callable on any thread.
/// </summary>
internal sealed class PasswordFile
{
    /// <summary>About 50,000 users; a larger file is a mistake (a log, an image) or a case for a database.</summary>
    public const int BytesMax = 4 * 1024 * 1024;

    private readonly string _path;
    private readonly CryptLibrary _library;
    private readonly Lock _refreshing = new();
    private FileState _state;

    /// <summary>Whether an equal file state implies equal content; until then, the content is compared.</summary>
    private bool _isSettled;
    private PasswordTable _table = PasswordTable.Empty;

    private PasswordFile(string path, CryptLibrary library)
    {
        _path = path;
        _library = library;
        _table = Read();
    }

    public PasswordTable Table => Volatile.Read(ref _table);

    /// <summary>Whether a file of a site is this one, by any name.</summary>
    public bool Is(in FileState file) => _state.IsSameFile(file);

    /// <summary>Why the present file is not used; null if it is.</summary>
    public SiteException? Refusal { get; private set; }

    /// <summary>Throws <see cref="SiteException"/> if the file cannot be used.</summary>
    public static PasswordFile Open(string path, CryptLibrary library) => new(path, library);

    /// <summary>
    /// Reads the file again if it has changed; true if there is a new table. Does nothing while another thread refreshes, which may wait
    /// for a file server.
    /// </summary>
    public bool Refresh()
    {
        if (!_refreshing.TryEnter())
        {
            return false;
        }

        try
        {
            PasswordTable table = Read();
            Refusal = null;
            bool isNew = !ReferenceEquals(table, _table);
            Volatile.Write(ref _table, table);
            return isNew;
        }
        catch (SiteException refusal)
        {
            // The next check reads the file in any case: its owner may fix a permission, which does not change the content.
            _isSettled = false;
            Refusal = refusal;
            return false;
        }
        finally
        {
            _refreshing.Exit();
        }
    }

    /// <summary>Returns a new table, or the present one if the content is the same.</summary>
    private PasswordTable Read()
    {
        using SafeFileHandle handle = Open();
        int fd = (int)handle.DangerousGetHandle();
        if (_isSettled && FileState.Read(fd, out FileState present) == 0 && present == _state)
        {
            return _table;
        }

        FileReadResult file = FileContent.ReadWhole(fd, BytesMax, attemptsMax: 1);
        if (file.Outcome != FileReadOutcome.Read)
        {
            throw file.Outcome switch
            {
                FileReadOutcome.NotRegular => Refused("is not a regular file", "Name the file that htpasswd wrote."),
                FileReadOutcome.TooLarge => Refused(
                    $"has {file.State.Size} bytes, more than {BytesMax}", "Name the file that htpasswd wrote."),
                FileReadOutcome.Failed => Refused($"cannot be read ({Errno.Describe(-file.Error)})", "Check its file system."),
                _ => Refused("changed while it was read", "It is read again within a second."),
            };
        }

        _state = file.State;
        _isSettled = file.State.IsSettledAt(file.CheckedAtNs);
        return _table.Digest.AsSpan().SequenceEqual(PasswordTable.DigestOf(file.Bytes))
            ? _table
            : PasswordFileParser.Parse(_path, file.Bytes, _library);
    }

    private SafeFileHandle Open()
    {
        // Without O_NONBLOCK, a FIFO at this path would block the thread indefinitely.
        int fd = FileContent.Open(CString.Of(_path), OpenFlags.ReadOnly | OpenFlags.NonBlock);
        return fd >= 0 ? new SafeFileHandle(fd, ownsHandle: true) : throw (-fd switch
        {
            Errno.ENOENT => Refused("does not exist", "Create it with 'htpasswd -B -c FILE USER'."),
            Errno.EACCES => Refused(
                "may not be read by this user", "Grant read permission on it and search permission on its parents.", isMistake: false),
            _ => Refused(
                $"cannot be opened: {FileProblem.Of(_path, fd)}", FileProblem.RemedyOf(fd, "Check the path."),
                isMistake: FileProblem.IsMistake(fd)),
        });
    }

    private SiteException Refused(string predicate, string remedy, bool isMistake = true) =>
        new($"The password file '{_path}' {predicate}.", remedy) { IsMistake = isMistake };
}

/// <summary>The users of a site and their password hashes, as read from the file at one time. Immutable.</summary>
internal sealed class PasswordTable
{
    /// <summary>The table before a file was read: no SHA-256 digest is all zero.</summary>
    public static readonly PasswordTable Empty = new(new byte[SHA256.HashSizeInBytes], []);

    private readonly Dictionary<byte[], byte[]> _hashes;
    private readonly byte[][] _decoys;

    public PasswordTable(byte[] digest, IEnumerable<KeyValuePair<byte[], byte[]>> users)
    {
        Digest = digest;
        _hashes = new Dictionary<byte[], byte[]>(users, BytesComparer.Instance);
        _decoys = [.. _hashes.Values];
    }

    public int Count => _hashes.Count;

    /// <summary>Identifies the file's content. It is as secret as the file.</summary>
    public byte[] Digest { get; }

    public static byte[] DigestOf(ReadOnlySpan<byte> file) => SHA256.HashData(file);

    /// <summary>
    /// The hash to compare a user's password with. An unknown user gets the hash of another user, always the same one, so that it takes as
    /// much time as a known user; the result is then denied in any case. Empty if there are no users.
    /// </summary>
    public ReadOnlySpan<byte> HashOf(ReadOnlySpan<byte> user, out bool isKnown)
    {
        isKnown = _hashes.GetAlternateLookup<ReadOnlySpan<byte>>().TryGetValue(user, out byte[]? hash);
        return isKnown ? hash : _decoys.Length == 0 ? [] : _decoys[DecoyHash(user) % (uint)_decoys.Length];
    }

    /// <summary>
    /// FNV-1a, with its upper half folded in, because the lower bits alone mix poorly. Seeded by the secret content of the file: outsiders
    /// cannot predict which decoy a name gets, and it is the same after a restart.
    /// </summary>
    private uint DecoyHash(ReadOnlySpan<byte> user)
    {
        ulong hash = BinaryPrimitives.ReadUInt64LittleEndian(Digest);
        foreach (byte value in user)
        {
            hash = (hash ^ value) * 0x100000001b3;
        }

        return (uint)(hash ^ (hash >> 32));
    }
}
