# Completions of millrace for fish, written by 'millrace completions fish'.

set -g __millrace_commands 'check' 'init' 'schema' 'precompress' 'doctor' 'probe' 'completions' 'man'
set -g __millrace_with_value '--config' '-l' '--listen' '--host' '--reactors' '--backend' '--cert' '--key' '--key-password' '--client-ca' '--tls-key-log' '--trusted-proxy' '--client-field' '--unix-mode' '--access-log' '--access-log-format' '--admin' '--admin-host' '--otlp' '--index' '--dotfiles' '--error-page' '--charset' '--mime' '--cache-control' '--header' '--auth' '--realm' '--redirect' '--rewrite' '--compress-memory' '--watch' '--bake-max' '--bake-memory' '--ring-max' '--hash-max' '--descriptors' '--entries-max' '--connections' '--connections-per-client' '--buffer-memory' '--keep-alive-timeout' '--head-timeout' '--head-max' '--receive-timeout' '--receive-rate' '--send-timeout' '--send-rate' '--drain' '--submission-entries' '--completion-entries' '--completions-per-turn' '--receive-buffers' '--receive-buffer-size' '--zero-copy-send' '--registered-buffers' '--file-workers' '--backlog' '--refusals' '--submission-polling' '--busy-poll' '--congestion-control' '--user' '--timeout'
set -g __millrace_with_word '--https' '--https-redirect' '--hsts' '--proxy-protocol' '--clean-urls' '--listing' '--cors' '--security-headers' '--site-files' '--compress' '--sendfile' '--one-shot-receive' '--registered-files' '--shared-submission-polling' '--prefer-busy-poll' '--pin-reactors' '--stall-watch' '--seccomp'

# __millrace_in COMMAND...: whether the line is about one of these; '' is serving.
function __millrace_in
    set -l words (commandline -opc)
    set -l command ''
    if set -q words[2]; and contains -- $words[2] $__millrace_commands
        set command $words[2]
    end
    contains -- "$command" $argv
end

# Whether nothing stands between the program and the cursor.
function __millrace_at_first
    test (count (commandline -opc)) -eq 1
end

# __millrace_lacks FLAG...: whether none of them has been told.
function __millrace_lacks
    for word in (commandline -opc)[2..]
        if contains -- (string split -m 1 = -- $word)[1] $argv
            return 1
        end
    end
    return 0
end

# __millrace_takes FLAG...: whether none has been told, but for one whose value is at the cursor.
function __millrace_takes
    set -l words (commandline -opc)
    if contains -- $words[-1] $argv
        set -e words[-1]
    end
    for word in $words[2..]
        if contains -- (string split -m 1 = -- $word)[1] $argv
            return 1
        end
    end
    return 0
end

# __millrace_behind FLAG...: whether one of them is the word before the cursor.
function __millrace_behind
    contains -- (commandline -opc)[-1] $argv
end

# __millrace_wants_argument COMMAND: whether the line is about it, and lacks what it takes besides flags.
function __millrace_wants_argument
    __millrace_in $argv; or return 1
    string match -q -- '-*=*' (commandline -ct); and return 1
    set -l words (commandline -opc)[2..]
    test -n "$argv[1]"; and set -e words[1]
    set -l before ''
    for word in $words
        if contains -- "$before" $__millrace_with_value
            set before ''
        else if contains -- "$before" $__millrace_with_word; and not string match -q -- '-*' $word
            set before ''
        else if string match -q -- '-*' $word
            set before $word
        else
            return 1
        end
    end
    return 0
end

# NAME=FOLDER, behind --FLAG= or alone.
function __millrace_named_folders
    set -l value (string replace -r -- '^--[^=]*=' '' (commandline -ct))
    set -l parts (string split -m 1 = -- $value)
    if set -q parts[2]
        string replace -r -- '^' "$parts[1]=" (__fish_complete_directories "$parts[2]" folder)
    end
end

complete -c millrace -f
complete -c millrace -n __millrace_at_first -a 'check' -d 'Says what would be served, or what is wrong (exit status 2): the same flags, environment and file, without a server'
complete -c millrace -n __millrace_at_first -a 'init' -d 'Writes a commented configuration file to begin with, never over another file'
complete -c millrace -n __millrace_at_first -a 'schema' -d 'Prints the JSON Schema of configuration files, which editors complete from'
complete -c millrace -n __millrace_at_first -a 'precompress' -d 'Writes .br and .gz files beside those that get smaller, where they are missing or older'
complete -c millrace -n __millrace_at_first -a 'doctor' -d 'Says what of this host makes serving slower (exit status 1) or impossible (2), and what to do about it'
complete -c millrace -n __millrace_at_first -a 'probe' -d 'Asks a server once: exit status 0 where it answers, 1 where it does not or with a status of 500 and above'
complete -c millrace -n __millrace_at_first -a 'completions' -d 'Prints a shell\'s completions: \'source <(millrace completions bash)\' has them at once'
complete -c millrace -n __millrace_at_first -a 'man' -d 'Prints the manual page: \'millrace man | man -l -\' shows it'
complete -c millrace -n '__millrace_wants_argument \'\'' -f -a '(__fish_complete_directories)' -d 'The folder to serve'
complete -c millrace -n '__millrace_wants_argument \'check\'' -F -d 'The configuration file, or the folder that would be served'
complete -c millrace -n '__millrace_wants_argument \'init\'' -F -d 'Where to write it'
complete -c millrace -n '__millrace_wants_argument \'precompress\'' -f -a '(__fish_complete_directories)' -d 'The folder, with all below it'
complete -c millrace -n '__millrace_wants_argument \'doctor\'' -f -a '(__fish_complete_directories)' -d 'The folder that would be served'
complete -c millrace -n '__millrace_wants_argument \'completions\'' -f -a 'bash fish zsh' -d 'Which shell: bash, zsh, fish'

complete -c millrace -n '__millrace_in \'\' \'check\' \'init\' \'schema\' \'precompress\' \'doctor\' \'probe\' \'completions\' \'man\'; and __millrace_lacks \'-h\' \'--help\'' -s h -l help -d 'Show help and usage information'

complete -c millrace -n '__millrace_in \'\'; and __millrace_lacks \'--version\'' -l version -d 'Show version information'

complete -c millrace -n '__millrace_in \'\' \'check\' \'doctor\'; and __millrace_takes \'--config\'' -l config -r -F -d 'Read options from a JSON file'
complete -c millrace -n '__millrace_in \'\' \'check\' \'doctor\'' -s l -l listen -r -f -d 'Where to listen: 8080 (all interfaces), 127.0.0.1:8080, [::1]:8080 or unix:/run/x.sock'
complete -c millrace -n '__millrace_in \'\' \'check\' \'doctor\'' -l host -r -f -a '(__millrace_named_folders)' -d 'Serve another folder for a host, with the same options; ROOT answers for all others'
complete -c millrace -n '__millrace_in \'\' \'check\' \'doctor\'; and __millrace_takes \'--reactors\'' -l reactors -r -f -d 'Reactor threads; 0 is one for each core this process may use'
complete -c millrace -n '__millrace_in \'\' \'check\' \'doctor\'; and __millrace_takes \'--backend\'' -l backend -r -f -a 'auto io_uring epoll' -d 'How the kernel is asked; auto is io_uring where a trial of it succeeds, else epoll'
complete -c millrace -n '__millrace_in \'\' \'check\' \'doctor\'' -l https -f -d 'Serve HTTPS there; --https alone is 127.0.0.1:8443'
complete -c millrace -n '__millrace_in \'\' \'check\' \'doctor\'' -l cert -r -F -d 'A PEM file: the certificate and those that lead to its root'
complete -c millrace -n '__millrace_in \'\' \'check\' \'doctor\'' -l key -r -F -d 'The PEM file of a certificate\'s private key'
complete -c millrace -n '__millrace_in \'\' \'check\' \'doctor\'' -l key-password -r -F -d 'The file whose first line is the password of an encrypted key'
complete -c millrace -n '__millrace_in \'\' \'check\' \'doctor\'; and __millrace_lacks \'--https-redirect\'' -l https-redirect -f -a 'on off' -d 'Send what comes to --listen to HTTPS'
complete -c millrace -n '__millrace_in \'\' \'check\' \'doctor\'; and __millrace_behind \'--https-redirect\'' -f -a 'on off'
complete -c millrace -n '__millrace_in \'\' \'check\' \'doctor\'; and __millrace_lacks \'--hsts\'' -l hsts -f -d 'Have browsers insist on HTTPS for so long (Strict-Transport-Security)'
complete -c millrace -n '__millrace_in \'\' \'check\' \'doctor\'; and __millrace_takes \'--client-ca\'' -l client-ca -r -F -d 'Serve only clients with a certificate of an authority in this PEM file'
complete -c millrace -n '__millrace_in \'\' \'check\' \'doctor\'; and __millrace_takes \'--tls-key-log\'' -l tls-key-log -r -F -d 'Append the secrets of all TLS connections to a file, for Wireshark'
complete -c millrace -n '__millrace_in \'\' \'check\' \'doctor\'' -l proxy-protocol -f -d 'Connections to this address of --listen or --https begin with a preface of the PROXY protocol (version 1 or 2), from a --trusted-proxy; --proxy-protocol alone is all addresses'
complete -c millrace -n '__millrace_in \'\' \'check\' \'doctor\'' -l trusted-proxy -r -f -a 'unix' -d 'A network that proxies connect from, as 10.0.0.0/8, or who comes by a unix socket: they are believed whose requests they pass on'
complete -c millrace -n '__millrace_in \'\' \'check\' \'doctor\'; and __millrace_takes \'--client-field\'' -l client-field -r -f -a 'x-forwarded-for forwarded none' -d 'The field that a --trusted-proxy adds the client\'s address to'
complete -c millrace -n '__millrace_in \'\' \'check\' \'doctor\'; and __millrace_takes \'--unix-mode\'' -l unix-mode -r -f -d 'Who may connect to unix sockets, as chmod has it: 0660'
complete -c millrace -n '__millrace_in \'\' \'check\' \'doctor\'; and __millrace_takes \'--access-log\'' -l access-log -r -F -a '- syslog' -d 'Write a line for each request to a file (opened anew on SIGUSR1), the standard output or the system\'s log'
complete -c millrace -n '__millrace_in \'\' \'check\' \'doctor\'; and __millrace_takes \'--access-log-format\'' -l access-log-format -r -f -a 'combined common json' -d 'How the lines of the access log are written'
complete -c millrace -n '__millrace_in \'\' \'check\' \'doctor\'; and __millrace_takes \'--admin\'' -l admin -r -f -d 'Show metrics, health and a live page there: 9180 (this machine only), 0.0.0.0:9180, [::]:9180 or unix:/run/x.sock'
complete -c millrace -n '__millrace_in \'\' \'check\' \'doctor\'' -l admin-host -r -f -d 'A name by which the admin pages may be asked for, besides localhost and IP addresses'
complete -c millrace -n '__millrace_in \'\' \'check\' \'doctor\'; and __millrace_takes \'--otlp\'' -l otlp -r -f -d 'Send metrics to an OpenTelemetry collector, over OTLP: http://127.0.0.1:4318'
complete -c millrace -n '__millrace_in \'\' \'check\' \'doctor\'; and __millrace_takes \'--index\'' -l index -r -f -d 'File names that answer for a directory, the first that exists'
complete -c millrace -n '__millrace_in \'\' \'check\' \'doctor\'; and __millrace_takes \'--dotfiles\'' -l dotfiles -r -f -a 'hide serve' -d 'Whether names that start with a dot are served; /.well-known/ always is'
complete -c millrace -n '__millrace_in \'\' \'check\' \'doctor\'; and __millrace_lacks \'--spa\'' -l spa -f -d 'Page of a single-page application that answers, with status 200, what is not found and looks like a page'
complete -c millrace -n '__millrace_in \'\' \'check\' \'doctor\'; and __millrace_lacks \'--clean-urls\'' -l clean-urls -f -a 'on off' -d 'Answer /about with about.html, and redirect /about.html there'
complete -c millrace -n '__millrace_in \'\' \'check\' \'doctor\'; and __millrace_behind \'--clean-urls\'' -f -a 'on off'
complete -c millrace -n '__millrace_in \'\' \'check\' \'doctor\'' -l error-page -r -f -d 'File that is the body of errors of a status, if it exists; STATUS= for none'
complete -c millrace -n '__millrace_in \'\' \'check\' \'doctor\'; and __millrace_lacks \'--listing\'' -l listing -f -a 'on off' -d 'List the files of directories without an index'
complete -c millrace -n '__millrace_in \'\' \'check\' \'doctor\'; and __millrace_behind \'--listing\'' -f -a 'on off'
complete -c millrace -n '__millrace_in \'\' \'check\' \'doctor\'; and __millrace_takes \'--charset\'' -l charset -r -f -d 'Charset that content types of text name; \'none\' for none'
complete -c millrace -n '__millrace_in \'\' \'check\' \'doctor\'' -l mime -r -f -d 'Content type of files with an extension, before the built-in ones'
complete -c millrace -n '__millrace_in \'\' \'check\' \'doctor\'' -l cache-control -r -f -d 'Cache-Control of paths, the first that matches; else a year for names with a content hash, or no-cache'
complete -c millrace -n '__millrace_in \'\' \'check\' \'doctor\'' -l header -r -f -d 'Response field of all paths, or of those that match; the last of a name replaces the others'
complete -c millrace -n '__millrace_in \'\' \'check\' \'doctor\'; and __millrace_lacks \'--cors\'' -l cors -f -d 'Let scripts of other sites read the files: of these origins, or of any (*)'
complete -c millrace -n '__millrace_in \'\' \'check\' \'doctor\'; and __millrace_lacks \'--security-headers\'' -l security-headers -f -a 'on off' -d 'Send a preset of security fields (nosniff, no framing by others, and more)'
complete -c millrace -n '__millrace_in \'\' \'check\' \'doctor\'; and __millrace_behind \'--security-headers\'' -f -a 'on off'
complete -c millrace -n '__millrace_in \'\' \'check\' \'doctor\'; and __millrace_takes \'--auth\'' -l auth -r -F -d 'Ask for a name and password of this htpasswd file, for every path'
complete -c millrace -n '__millrace_in \'\' \'check\' \'doctor\'; and __millrace_takes \'--realm\'' -l realm -r -f -d 'What a browser shows when it asks for the password'
complete -c millrace -n '__millrace_in \'\' \'check\' \'doctor\'' -l redirect -r -f -d 'Redirect paths that have no file, with STATUS! also those that have one, as \'/old/* /new/:splat 301\''
complete -c millrace -n '__millrace_in \'\' \'check\' \'doctor\'' -l rewrite -r -f -d 'Answer paths that have no file with another\'s, as \'/app/* /app.html\''
complete -c millrace -n '__millrace_in \'\' \'check\' \'doctor\'; and __millrace_lacks \'--site-files\'' -l site-files -f -a 'on off' -d 'Take _headers and _redirects in the root for rules, and do not serve them'
complete -c millrace -n '__millrace_in \'\' \'check\' \'doctor\'; and __millrace_behind \'--site-files\'' -f -a 'on off'
complete -c millrace -n '__millrace_in \'\' \'check\' \'doctor\'; and __millrace_lacks \'--compress\'' -l compress -f -a 'on off' -d 'Compress files that gain from it, each once, in the background'
complete -c millrace -n '__millrace_in \'\' \'check\' \'doctor\'; and __millrace_behind \'--compress\'' -f -a 'on off'
complete -c millrace -n '__millrace_in \'\' \'check\' \'doctor\'; and __millrace_takes \'--compress-memory\'' -l compress-memory -r -f -d 'Memory for compressed files, in bytes'
complete -c millrace -n '__millrace_in \'\' \'check\' \'doctor\'; and __millrace_takes \'--watch\'' -l watch -r -f -a 'auto inotify revalidate off' -d 'How changes are noticed: by inotify (auto: where it works), by a look at each request, or only at SIGHUP'
complete -c millrace -n '__millrace_in \'\' \'check\' \'doctor\'; and __millrace_takes \'--bake-max\'' -l bake-max -r -f -d 'Largest file kept in memory, in bytes'
complete -c millrace -n '__millrace_in \'\' \'check\' \'doctor\'; and __millrace_takes \'--bake-memory\'' -l bake-memory -r -f -a 'auto' -d 'Memory for files kept in memory, in bytes; auto is a site\'s share of 256 MiB or a quarter of what there is'
complete -c millrace -n '__millrace_in \'\' \'check\' \'doctor\'; and __millrace_takes \'--ring-max\'' -l ring-max -r -f -d 'Largest file that is read in one go, in bytes; larger ones are streamed'
complete -c millrace -n '__millrace_in \'\' \'check\' \'doctor\'; and __millrace_lacks \'--sendfile\'' -l sendfile -f -a 'on off' -d 'Send large streamed files without a copy, all but their ends'
complete -c millrace -n '__millrace_in \'\' \'check\' \'doctor\'; and __millrace_behind \'--sendfile\'' -f -a 'on off'
complete -c millrace -n '__millrace_in \'\' \'check\' \'doctor\'; and __millrace_takes \'--hash-max\'' -l hash-max -r -f -d 'How much is read to make entity tags of content, in bytes, the smallest files first'
complete -c millrace -n '__millrace_in \'\' \'check\' \'doctor\'; and __millrace_takes \'--descriptors\'' -l descriptors -r -f -a 'auto' -d 'Descriptors held open for files; auto is a site\'s share of half of the process\'s limit'
complete -c millrace -n '__millrace_in \'\' \'check\' \'doctor\'; and __millrace_takes \'--entries-max\'' -l entries-max -r -f -d 'Directory entries a walk of the root may meet'
complete -c millrace -n '__millrace_in \'\' \'check\' \'doctor\'; and __millrace_takes \'--connections\'' -l connections -r -f -d 'Connections at one time'
complete -c millrace -n '__millrace_in \'\' \'check\' \'doctor\'; and __millrace_takes \'--connections-per-client\'' -l connections-per-client -r -f -d 'Of those, connections of one IPv4 address or IPv6 /64; 0: all'
complete -c millrace -n '__millrace_in \'\' \'check\' \'doctor\'; and __millrace_takes \'--buffer-memory\'' -l buffer-memory -r -f -d 'Memory for what is received and sent; 0: a quarter of all there is'
complete -c millrace -n '__millrace_in \'\' \'check\' \'doctor\'; and __millrace_takes \'--keep-alive-timeout\'' -l keep-alive-timeout -r -f -d 'How long a connection may wait for its next request'
complete -c millrace -n '__millrace_in \'\' \'check\' \'doctor\'; and __millrace_takes \'--head-timeout\'' -l head-timeout -r -f -d 'How long a request\'s head may take from its first byte to its last'
complete -c millrace -n '__millrace_in \'\' \'check\' \'doctor\'; and __millrace_takes \'--head-max\'' -l head-max -r -f -d 'How large a request\'s head may be'
complete -c millrace -n '__millrace_in \'\' \'check\' \'doctor\'; and __millrace_takes \'--receive-timeout\'' -l receive-timeout -r -f -d 'How long a client may be silent within a head or a body'
complete -c millrace -n '__millrace_in \'\' \'check\' \'doctor\'; and __millrace_takes \'--receive-rate\'' -l receive-rate -r -f -d 'How much of a head or a body must come a second, on average; 0: any'
complete -c millrace -n '__millrace_in \'\' \'check\' \'doctor\'; and __millrace_takes \'--send-timeout\'' -l send-timeout -r -f -d 'How long a client may take nothing of an answer that waits for it'
complete -c millrace -n '__millrace_in \'\' \'check\' \'doctor\'; and __millrace_takes \'--send-rate\'' -l send-rate -r -f -d 'How much of an answer must be taken a second, on average; 0: any'
complete -c millrace -n '__millrace_in \'\' \'check\' \'doctor\'; and __millrace_takes \'--drain\'' -l drain -r -f -d 'How long requests under way get to finish when the server is stopped'
complete -c millrace -n '__millrace_in \'\' \'check\' \'doctor\'; and __millrace_takes \'--submission-entries\'' -l submission-entries -r -f -d 'Operations of a reactor that can be queued between two calls of the kernel'
complete -c millrace -n '__millrace_in \'\' \'check\' \'doctor\'; and __millrace_takes \'--completion-entries\'' -l completion-entries -r -f -d 'Completions of a reactor that can wait; no fewer than operations'
complete -c millrace -n '__millrace_in \'\' \'check\' \'doctor\'; and __millrace_takes \'--completions-per-turn\'' -l completions-per-turn -r -f -d 'Completions handled before the kernel is called again'
complete -c millrace -n '__millrace_in \'\' \'check\' \'doctor\'; and __millrace_takes \'--receive-buffers\'' -l receive-buffers -r -f -d 'Buffers that all connections of a reactor share for what arrives; a power of two'
complete -c millrace -n '__millrace_in \'\' \'check\' \'doctor\'; and __millrace_takes \'--receive-buffer-size\'' -l receive-buffer-size -r -f -d 'Size of one of these buffers'
complete -c millrace -n '__millrace_in \'\' \'check\' \'doctor\'; and __millrace_lacks \'--one-shot-receive\'' -l one-shot-receive -f -a 'on off' -d 'Ask the kernel for each piece of what arrives, instead of once for all that a connection brings'
complete -c millrace -n '__millrace_in \'\' \'check\' \'doctor\'; and __millrace_behind \'--one-shot-receive\'' -f -a 'on off'
complete -c millrace -n '__millrace_in \'\' \'check\' \'doctor\'; and __millrace_takes \'--zero-copy-send\'' -l zero-copy-send -r -f -d 'Send so many bytes and more from the memory they stand in, without a copy; 0 for none'
complete -c millrace -n '__millrace_in \'\' \'check\' \'doctor\'; and __millrace_takes \'--registered-buffers\'' -l registered-buffers -r -f -d 'Memory of each reactor that the kernel pins once: files are read into it, and sent from it by --zero-copy-send; 0 for none'
complete -c millrace -n '__millrace_in \'\' \'check\' \'doctor\'; and __millrace_lacks \'--registered-files\'' -l registered-files -f -a 'on off' -d 'Have each reactor find its sockets in a table of its own, and not in the one that all threads share'
complete -c millrace -n '__millrace_in \'\' \'check\' \'doctor\'; and __millrace_behind \'--registered-files\'' -f -a 'on off'
complete -c millrace -n '__millrace_in \'\' \'check\' \'doctor\'; and __millrace_takes \'--file-workers\'' -l file-workers -r -f -d 'Kernel threads of a reactor that read what is not in the page cache'
complete -c millrace -n '__millrace_in \'\' \'check\' \'doctor\'; and __millrace_takes \'--backlog\'' -l backlog -r -f -d 'Connections that the kernel queues before they are accepted, cut to net.core.somaxconn'
complete -c millrace -n '__millrace_in \'\' \'check\' \'doctor\'; and __millrace_takes \'--refusals\'' -l refusals -r -f -d 'Connections beyond a limit that are answered 503 at one time; those beyond it too are reset'
complete -c millrace -n '__millrace_in \'\' \'check\' \'doctor\'; and __millrace_takes \'--submission-polling\'' -l submission-polling -r -f -d 'How long a kernel thread of each reactor goes on looking for operations when none come, so that they need no system call; 0 for none'
complete -c millrace -n '__millrace_in \'\' \'check\' \'doctor\'; and __millrace_lacks \'--shared-submission-polling\'' -l shared-submission-polling -f -a 'on off' -d 'Have all reactors share one such thread'
complete -c millrace -n '__millrace_in \'\' \'check\' \'doctor\'; and __millrace_behind \'--shared-submission-polling\'' -f -a 'on off'
complete -c millrace -n '__millrace_in \'\' \'check\' \'doctor\'; and __millrace_takes \'--busy-poll\'' -l busy-poll -r -f -d 'How long a wait looks at the network device itself before its interrupt is waited for, in microseconds; 0 for not at all'
complete -c millrace -n '__millrace_in \'\' \'check\' \'doctor\'; and __millrace_lacks \'--prefer-busy-poll\'' -l prefer-busy-poll -f -a 'on off' -d 'Have the device leave its interrupts off meanwhile'
complete -c millrace -n '__millrace_in \'\' \'check\' \'doctor\'; and __millrace_behind \'--prefer-busy-poll\'' -f -a 'on off'
complete -c millrace -n '__millrace_in \'\' \'check\' \'doctor\'; and __millrace_lacks \'--pin-reactors\'' -l pin-reactors -f -a 'on off' -d 'Keep each reactor on a core of its own, of those that the process may use'
complete -c millrace -n '__millrace_in \'\' \'check\' \'doctor\'; and __millrace_behind \'--pin-reactors\'' -f -a 'on off'
complete -c millrace -n '__millrace_in \'\' \'check\' \'doctor\'; and __millrace_takes \'--congestion-control\'' -l congestion-control -r -f -d 'What decides how fast TCP connections send, of those in net.ipv4.tcp_available_congestion_control: bbr, say'
complete -c millrace -n '__millrace_in \'\' \'check\' \'doctor\'; and __millrace_lacks \'--stall-watch\'' -l stall-watch -f -a 'on off' -d 'Watch for reactors that are held up, log it, and have others take their new connections'
complete -c millrace -n '__millrace_in \'\' \'check\' \'doctor\'; and __millrace_behind \'--stall-watch\'' -f -a 'on off'
complete -c millrace -n '__millrace_in \'\' \'check\' \'doctor\'; and __millrace_takes \'--user\'' -l user -r -f -d 'Serve as this user, from when addresses are bound and certificates are read'
complete -c millrace -n '__millrace_in \'\' \'check\' \'doctor\'; and __millrace_lacks \'--seccomp\'' -l seccomp -f -a 'on off' -d 'Refuse, while serving, system calls that a server has no use for: programs, processes, mounts, debugging'
complete -c millrace -n '__millrace_in \'\' \'check\' \'doctor\'; and __millrace_behind \'--seccomp\'' -f -a 'on off'

complete -c millrace -n '__millrace_in \'precompress\'; and __millrace_lacks \'--prune\'' -l prune -d 'Remove coded files whose original is gone: a .br of a type that is compressed, and a .gz beside such a .br'

complete -c millrace -n '__millrace_in \'doctor\'; and __millrace_lacks \'--json\'' -l json -d 'Print the findings as JSON'

complete -c millrace -n '__millrace_in \'probe\'; and __millrace_takes \'--timeout\'' -l timeout -r -f -d 'Seconds until it is given up'
